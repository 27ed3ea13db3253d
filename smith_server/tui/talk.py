"""The conversation behind the session: prompts, commands, questions and stops, in words of the runtime."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import Message
from smith_server.runtime.commands.result import Result
from smith_server.runtime.line import Prompt
from smith_server.runtime.replay import as_events, newest
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.tui.blocks.draw import transcript
from smith_server.tui.state import Conversation, folded

_SHOWN_MESSAGES = 20
_WIDTH = 80


class Talk:
    """One open conversation and what is shown of it. `on_change` is told when something has changed."""

    def __init__(self, services: Services, session: Session, cwd: Callable[[], Path], on_change: Callable[[], None]):
        self.services = services
        self.session = session
        self.shown = Conversation()
        self._cwd = cwd
        self._on_change = on_change
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits to."""
        return self.session.busy

    def replay(self) -> None:
        """Show the last turns of a conversation that was there before."""
        messages = newest(self.session.talk.messages, _SHOWN_MESSAGES)
        if count := len(self.session.talk.messages) - len(messages):
            self.shown.notice("info", f"{count} earlier messages are not shown here; Alt-h shows them.")
        for envelope in as_events(self.session, messages):
            self.shown.take(envelope)
        self.shown.queue = [(each.id, each.text) for each in self.session.waiting()]

    def send(self, text: str) -> None:
        """Send a prompt; it waits when a turn runs."""
        self.begin(self._send(text))

    def cancel(self) -> None:
        """Stop the turn and empty the line."""
        self.begin(self.session.cancel())

    def answer(self, question: str, decision: str) -> None:
        """Answer a question, if it is still open."""
        if self.session.approvals.pending(question):
            self.session.approvals.answer(question, decision)

    async def command(self, line: str) -> Result:
        """Run a command line; what it says is shown, but for pages."""
        result: Result = await self.services.run_line(line, self.session)
        if result.error is not None:
            self.shown.answer_command(line, result.error.message, "error")
        elif result.text:
            self.shown.answer_command(line, result.text)
        return result

    def whole(self) -> list[str]:
        """Every line of the conversation, nothing left out."""
        messages = self.session.talk.messages
        return transcript(folded(list(as_events(self.session, messages))).blocks, _WIDTH)

    def messages(self) -> list[str]:
        """The messages as they are stored: id, who, what."""
        return [line for message in self.session.talk.messages for line in _described(message)]

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside the keys; what goes wrong is shown."""
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except AgentFailure as problem:
            self.shown.notice("error", problem.error.message)
        self._on_change()

    async def _send(self, text: str) -> None:
        await self.session.submit(Prompt(text, cwd=self._cwd()))


def _described(message: Message) -> list[str]:
    kind = type(message).__name__.removesuffix("Message").lower()
    text = str(getattr(message, "content", "") or getattr(message, "text", ""))
    calls = [f"    call {call.name} {call.arguments}" for call in getattr(message, "calls", ())]
    name = getattr(message, "name", "")
    head = f"# {message.id} {kind}{f' {name}' if name else ''}, {len(text)} characters"
    return [head, *(f"    {line}" for line in text.split("\n") if text), *calls, ""]
