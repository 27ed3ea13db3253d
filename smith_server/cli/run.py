"""`smith run`: one prompt, nobody to ask, the answer on standard output."""

import argparse
import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TextIO

from msgspec import structs

from smith_server.cli.log import start_log
from smith_server.cli.plain import Printer
from smith_server.cli.signals import ENDING, Stop
from smith_server.cli.spent import Spent
from smith_server.cli.start import begun, here, opened, options_from
from smith_server.cli.streams import EXHAUSTED, FAILED, INTERRUPTED, OVERSPENT, REFUSED, Output, leave
from smith_server.config.layers import relied_on
from smith_server.core.editor import Editor
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.late import late
from smith_server.core.ports import Approver
from smith_server.runtime.line import Prompt
from smith_server.runtime.outcome import TurnOutcome
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.runtime.typed import is_command, spoken
from smith_server.runtime.unattended import Nobody, NoEditor

if TYPE_CHECKING:
    from smith_server.cli.spelling import JsonLines

_json_lines: "Callable[[Output], JsonLines]" = late("smith_server.cli.spelling:JsonLines")


class Headless:
    """No editor and nobody to ask."""

    name = "a headless run"

    def editor(self, session: Session) -> Editor:
        return NoEditor()

    def approver(self, session: Session) -> Approver:
        return Nobody()


def run(words: argparse.Namespace, answers: TextIO) -> int:
    """Run the prompt; the process ends with the exit code."""
    start_log()
    return asyncio.run(Run(words, answers).to_the_end())


class Run:
    """One prompt, from the words of the command line to the exit code."""

    def __init__(self, words: argparse.Namespace, answers: TextIO) -> None:
        self._words = words
        self._output = Output(answers, self._cut_off)
        self._lines = _json_lines(self._output) if words.json else None
        self._spent = Spent()
        self._session: Session | None = None
        self._stopping: asyncio.Task[object] | None = None
        self._is_cut_off = False

    async def to_the_end(self) -> NoReturn:
        """Run it and leave."""
        # From within the loop: to close that would be to wait for threads that nobody needs any more.
        leave(await self.code())

    async def code(self) -> int:
        """Run it; the exit code."""
        stop = Stop(self._stop)
        stop.watch(signal.SIGINT, *ENDING)
        self._work = asyncio.ensure_future(self._outcome())
        try:
            outcome = await self._work
        except AgentFailure as problem:
            self._output.note(f"smith: {problem.error.message}")
            return stop.code or FAILED
        except asyncio.CancelledError:
            return stop.code
        if stop.code or self._is_cut_off:
            return stop.code or FAILED
        if outcome.denied:
            names = ", ".join(dict.fromkeys(outcome.denied))
            self._output.note(f"smith: refused, as nobody could be asked: {names}. --yes runs everything.")
        return exit_code(outcome)

    async def _outcome(self) -> TurnOutcome:
        more = {"approval": {"mode": "auto"}} if self._words.yes else None
        options = structs.replace(options_from(self._words, resume=self._words.resume, more=more), unattended=True)
        async with opened(options, Headless()) as services:
            services.bus.subscribe((self._lines or Printer(self._output)).take)
            services.bus.subscribe(self._spent.take)
            self._refuse_unsafe(services)
            self._session = await begun(services, self._words, self._output.note)
            prompt = self._words.prompt
            if is_command(prompt):
                outcome = await self._command(prompt, services, self._session)
            else:
                ticket = await self._session.submit(Prompt(spoken(prompt), cwd=here()))
                outcome = await ticket.done
        if self._lines is not None:
            self._lines.end(structs.replace(outcome, usage=self._spent.usage), self._session.id)
        else:
            for line in self._spent.lines():
                self._output.note(f"smith: {line}")
        return outcome

    async def _command(self, line: str, services: Services, session: Session) -> TurnOutcome:
        """Run a line that begins with `/`; no model sees it."""
        done = await services.run_line(line, session)
        if done.error is not None:
            self._output.note(f"smith: {done.error.message}")
            return TurnOutcome("", "error", error=done.error)
        text = done.page or done.text
        if self._lines is not None:
            self._lines.say(text)
        elif text:
            self._output.answer(f"{text}\n")
        return TurnOutcome("", "completed", text)

    def _refuse_unsafe(self, services: Services) -> None:
        """Nobody is there to be asked about each call, as settings that cannot be read demand."""
        found = services.handles.config.loaded(here(project=True))
        if missing := relied_on(found):
            for text in missing:
                self._output.note(f"smith: {text}")
            text = "Nothing was run: what these settings forbid would not be kept from happening. Take them out to run."
            raise failure("schema", "unsafe_settings", text)
        if not found.unsafe:
            return
        for text in found.problems:
            self._output.note(f"smith: {text}")
        text = "The settings that protect you could not be read, so nothing was run. Correct them."
        raise failure("schema", "unsafe_settings", text)

    def _stop(self) -> None:
        if self._session is None:
            self._work.cancel()
        else:
            self._stopping = asyncio.ensure_future(self._session.cancel())

    def _cut_off(self, problem: OSError) -> None:
        """Nobody gets the answer: there is no sense in working on."""
        self._is_cut_off = True
        self._output.note(f"smith: the output cannot be written ({problem.strerror}); the run is stopped.")
        self._stop()


_LIMITS = {"max_cost": OVERSPENT, "tool_step_budget": EXHAUSTED}


def exit_code(outcome: TurnOutcome) -> int:
    """What a turn comes to for a shell."""
    code = outcome.error.code if outcome.error is not None else ""
    match outcome.stop_reason:
        case "budget_exhausted" | "error" if code in _LIMITS:
            return _LIMITS[code]
        case "error" | "budget_exhausted":
            return FAILED
        case "cancelled":
            return INTERRUPTED
        case _:
            return REFUSED if outcome.denied else 0
