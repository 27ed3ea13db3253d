"""The last scene: a terminal session sends somebody, and shows that it waits for them."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from neovim import NotSeen
from terminal import TerminalSession

PROMPT = "where are amounts rounded?"
WAITS = "waiting for Link (explorer)"
FOUND = "Link: ok, amounts are rounded when they are printed, nowhere else"


def errand(folder: Path, variables: Mapping[str, str], visible: bool) -> list[str]:
    """Play it; what was checked. Raises `NotSeen`."""
    told = ["\nIn the terminal you ask, and the agent sends an explorer."]
    command = [sys.executable, "-m", "smith_server", "chat"]
    session = TerminalSession(command, folder, variables, visible)

    def check(text: str, holds: bool) -> None:
        if not holds:
            raise NotSeen(f"it is not so that {text}. The terminal was:\n{session.text}")
        told.append(f"  checked: {text}")

    try:
        session.wait_for("Enter sends")
        session.keys(f"{PROMPT}\r")
        session.wait_for(WAITS)
        check("while the explorer waits, the session says whom it waits for", True)
        session.wait_for("explorer: read prices.py")
        check("what the explorer does is shown in the line of its call", True)
        session.wait_for(FOUND)
        session.wait_for("does not round.")
        check("its report is one line, and the answer follows", FOUND in session.text)
        if session.has_rained:
            told.append("  seen: it rained behind the text")
        time.sleep(2 if visible else 0)
        session.keys("\x04")
        check("Ctrl-D leaves with a word on how to go on", session.code() == 0 and "smith chat -c" in session.text)
    finally:
        session.close()
    return told
