"""`smith chat` on a terminal that can be drawn on: the session of `tui` with its services around it."""

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO

from smith_server import __version__
from smith_server.cli.signals import ENDING, Stop
from smith_server.cli.start import begun, here, opened, options_from
from smith_server.cli.streams import FAILED
from smith_server.cli.terminal import Terminal, how_to_go_on
from smith_server.config.paths import Places
from smith_server.core.errors import AgentFailure
from smith_server.core.events import Envelope
from smith_server.core.printable import printable
from smith_server.runtime.services import Services
from smith_server.tui.app import Surroundings, TerminalSession

_GREETING = f"""\
smith {__version__}
Enter sends, Alt-Enter begins a line, / lists commands, Esc stops, Alt-h shows everything, Ctrl-D leaves.
"""


async def drawn(words: argparse.Namespace, answers: TextIO) -> int:
    """Talk until the person leaves; the exit code."""
    return await _Drawn(words, answers).code()


class _Drawn:
    """The session from the words of the command line to the exit code."""

    def __init__(self, words: argparse.Namespace, answers: TextIO) -> None:
        self._words = words
        self._answers = answers
        self._leaves = False
        self._face: TerminalSession | None = None
        self._options = options_from(words, resume=words.resume or None)

    async def code(self) -> int:
        """Talk; the exit code."""
        stop = Stop(self._leave, self._put_back)
        stop.watch(*ENDING)
        try:
            async with opened(self._options, Terminal(is_attended=True)) as services:
                face = await self._talk(services)
        except AgentFailure as problem:
            sys.stderr.write(f"smith: {printable(problem.error.message)}\n")
            return stop.code or FAILED
        face.finish()
        if face.session.talk.messages:
            sys.stderr.write(f"\n{how_to_go_on(face.session)}\n")
        return stop.code or face.code

    async def _talk(self, services: Services) -> TerminalSession:
        early: list[Envelope] = []
        unheard = services.bus.subscribe(early.append)
        notes: list[str] = []
        session = await begun(services, self._words, notes.append)
        face = self._face = TerminalSession(services, session, self._around())
        unheard()
        for envelope in early:
            face.take(envelope)
        services.bus.subscribe(face.take)
        await face.load()
        for text in notes:
            face.say(text.removeprefix("smith: ").capitalize())
        services.warm(session.root)
        services.advise(session)
        if not self._leaves:
            await face.run()
        return face

    def _around(self) -> Surroundings:
        history = _history(self._options.places)
        return Surroundings(sys.stdin, self._answers.fileno(), os.environ, here, history, _GREETING)

    def _put_back(self) -> None:
        """The terminal as it was, when there is no time for anything else."""
        if self._face is not None:
            self._face.abandon_at_once()

    def _leave(self) -> None:
        self._leaves = True
        if self._face is not None:
            self._face.leave()


def _history(places: Places) -> Path | None:
    """The file of earlier prompts, for this user alone; None where none can be made."""
    path = places.state / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return None
    return path
