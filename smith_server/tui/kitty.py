"""The graphics protocol of kitty, as far as a picture behind the text needs it.

The pixels travel through shared memory; what is written to the terminal names them and is about 150 bytes.
"""

import base64
import os
import re
import select
import time
from collections.abc import Mapping
from typing import NamedTuple

from smith_server.tui import shm
from smith_server.tui.screen import BEGIN, END
from smith_server.tui.tty import Tty

IMAGE, PLACEMENT = 0x534D, 1
"""The same in every process, so that the next one can take away what a killed one has left on the screen."""

LAYER = -10
"""Under the text."""

QUERY_SECONDS = 1.0
_QUERY_IMAGE = 0x534E
_ASK_DEVICE = "\x1b[c"
_ANSWER = re.compile(rb"\x1b_G[^\x1b]*\x1b\\|\x1b\[\?[\d;]*c")
_UNFINISHED = re.compile(rb"\x1b_G[^\x1b]*\x1b?$|\x1b\[\?[\d;]*$")
_MULTIPLEXERS = ("TMUX", "STY", "ZELLIJ", "SSH_CONNECTION", "SSH_TTY")
_GRAPHICAL = ("kitty", "ghostty", "wezterm")


class Strip(NamedTuple):
    """Where a picture stands: cells, and the lines from the cursor up to its first row."""

    column: int
    columns: int
    rows: int


def may_show(environ: Mapping[str, str]) -> bool:
    """Whether it is worth asking: the terminal may know the protocol and is on this machine."""
    if any(environ.get(name) for name in (*_MULTIPLEXERS, "NO_COLOR")):
        return False
    names = f"{environ.get('TERM', '')} {environ.get('TERM_PROGRAM', '')}".lower()
    if names.startswith(("dumb", "screen", "tmux")):
        return False
    return bool(environ.get("KITTY_WINDOW_ID")) or any(name in names for name in _GRAPHICAL)


def ask(tty: Tty, keyboard: int, seconds: float = QUERY_SECONDS) -> tuple[bool, bytes]:
    """Whether the terminal can read a picture out of shared memory, and what was typed meanwhile.

    `keyboard` is the descriptor of its input, in raw mode. Every terminal answers the second question,
    so one that does not know the first costs no waiting.
    """
    try:
        name = shm.create(b"\0" * 3)
    except OSError:
        return False, b""
    try:
        tty.write(_command(f"a=q,i={_QUERY_IMAGE},s=1,v=1,t=s,f=24,S=3", name) + _ASK_DEVICE)
        return _heard(keyboard, time.monotonic() + seconds)
    finally:
        shm.unlink(name)


def _heard(keyboard: int, limit: float) -> tuple[bool, bytes]:
    data, is_able = b"", False
    while (left := limit - time.monotonic()) > 0:
        if not select.select([keyboard], [], [], left)[0]:
            break
        more = os.read(keyboard, 4096)
        if not more:
            break
        data += more
        answers = _ANSWER.findall(data)
        is_able = any(b";OK\x1b" in answer for answer in answers)
        if any(answer.endswith(b"c") for answer in answers):
            break
    return is_able, without_answers(data)


def without_answers(data: bytes) -> bytes:
    """What a person typed, out of what a terminal sent."""
    return _UNFINISHED.sub(b"", _ANSWER.sub(b"", data))


def place(name: str, pixels: tuple[int, int], strip: Strip) -> str:
    """Show the picture in the object `name`, of so many pixels, in place of the one before; the cursor stays."""
    width, height = pixels
    size = f"s={width},v={height},S={width * height * 4}"
    keys = f"a=T,i={IMAGE},p={PLACEMENT},f=32,t=s,{size},c={strip.columns},r={strip.rows},z={LAYER},C=1,q=2"
    return f"{BEGIN}\x1b7\x1b[{strip.rows + 1}A\x1b[{strip.column}G{_command(keys, name)}\x1b8{END}"


def delete() -> str:
    """Take the picture away and free it."""
    return f"\x1b_Ga=d,d=I,i={IMAGE},q=2\x1b\\"


def _command(keys: str, name: str) -> str:
    return f"\x1b_G{keys};{base64.b64encode(name.encode()).decode()}\x1b\\"
