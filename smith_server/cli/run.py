"""`smith run`: one prompt, nobody to ask, the answer on standard output."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec

from smith_server.cli.garbage import collect_later
from smith_server.cli.log import start_log
from smith_server.cli.start import options_from
from smith_server.config.paths import project_root
from smith_server.core.editor import Editor
from smith_server.core.errors import AgentFailure
from smith_server.core.events import (
    CallFinished,
    CallStarted,
    Envelope,
    Notice,
    OutputDelta,
    PersistenceFailed,
    TurnFailed,
)
from smith_server.core.ports import Approver
from smith_server.runtime.outcome import TurnOutcome
from smith_server.runtime.services import Options, Services
from smith_server.runtime.session import Prompt, Session
from smith_server.runtime.unattended import Nobody, NoEditor

FAILED, REFUSED, INTERRUPTED = 1, 3, 130


class Headless:
    """No editor and nobody to ask."""

    name = "a headless run"

    def editor(self, session: Session) -> Editor:
        return NoEditor()

    def approver(self, session: Session) -> Approver:
        return Nobody()


def run(words: argparse.Namespace) -> int:
    """Run the prompt; the exit code."""
    start_log()
    more = {"approval": {"mode": "auto"}} if words.yes else None
    options = options_from(words, resume=words.resume, more=more)
    try:
        code = asyncio.run(_run(words, options))
    except AgentFailure as problem:
        print(f"smith: {problem.error.message}", file=sys.stderr)
        code = FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def _run(words: argparse.Namespace, options: Options) -> int:
    collect_later()
    services = Services(options, Headless())
    await services.open()
    try:
        root = project_root(Path.cwd())
        services.bus.subscribe(_print_json if words.json else Printer().take)
        session = await services.session("", root)
        if services.loaded(root).unsafe:
            print("smith: the settings that protect you could not be read; nothing was run.", file=sys.stderr)
            return FAILED
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: asyncio.ensure_future(session.cancel()))
        ticket = await session.submit(Prompt(" ".join(words.prompt), cwd=Path.cwd()))
        return _code(await ticket.done)
    finally:
        await services.close("done")


def _code(outcome: TurnOutcome) -> int:
    match outcome.stop_reason:
        case "cancelled":
            return INTERRUPTED
        case "error":
            return FAILED
        case _ if outcome.denied:
            names = ", ".join(dict.fromkeys(outcome.denied))
            print(f"smith: refused, as nobody could be asked: {names}. --yes runs everything.", file=sys.stderr)
            return REFUSED
        case _:
            return 0


def _print_json(envelope: Envelope) -> None:
    line = {**msgspec.to_builtins(envelope.event), "conversation": envelope.conversation, "turn": envelope.turn}
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


class Printer:
    """The answer on standard output as it comes, everything else as lines on standard error."""

    def __init__(self) -> None:
        self._open_line = False

    def take(self, envelope: Envelope) -> None:
        """A listener of the bus."""
        match envelope.event:
            case OutputDelta(_, text):
                sys.stdout.write(printable(text))
                sys.stdout.flush()
                self._open_line = not text.endswith("\n")
            case CallStarted(_, name, arguments):
                self._note(f"· {name} {arguments[:160]}")
            case CallFinished():
                self._note(f"  {envelope.event.summary}")
            case Notice(_, text):
                self._note(f"smith: {text}")
            case PersistenceFailed(error) | TurnFailed(error):
                self._note(f"smith: {error.message}")
            case _:
                if self._open_line and type(envelope.event).__name__ in ("TurnCompleted", "TurnCancelled"):
                    self._end_line()

    def _note(self, text: str) -> None:
        self._end_line()
        print(printable(text), file=sys.stderr, flush=True)

    def _end_line(self) -> None:
        if self._open_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open_line = False


def printable(text: str) -> str:
    """`text` without control characters, which a terminal would obey."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable() or char == "\u200d")
