"""The conversation behind the session: what is stored of it, prompts, answers, in words of the runtime."""

from pathlib import Path

from smith_server.core import news
from smith_server.core.conversation import turn_of
from smith_server.core.errors import AgentError
from smith_server.core.events import Envelope, ErrorReported, Notice, PersistenceFailed
from smith_server.core.messages import Message
from smith_server.runtime.commands.result import Result
from smith_server.runtime.line import Prompt
from smith_server.runtime.replay import Replayed
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.lease import facts
from smith_server.tui.blocks.draw import transcript
from smith_server.tui.state import Conversation, folded

_SHOWN_MESSAGES = 20
_ALL_MESSAGES = 1 << 30
_WIDTH = 80
_TOLD_ONCE = Notice | ErrorReported | PersistenceFailed
"""They are not stored, and so no part of what is replayed."""


class Talk:
    """One open conversation and what is shown of it: nothing until `replay`."""

    def __init__(self, services: Services, session: Session) -> None:
        self.services = services
        self.session = session
        self.shown = Conversation()
        self._held: list[Envelope] | None = []

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits to."""
        return self.session.busy

    @property
    def last_turn(self) -> str:
        """The id of the last turn that is known here, "" for none."""
        messages = self.session.talk.messages
        return turn_of(messages[-1].id) if messages else ""

    def take(self, envelope: Envelope) -> None:
        """Take an event in."""
        if self._held is None:
            self.shown.take(envelope)
        else:
            self._held.append(envelope)

    async def replay(self, before: "Talk | None" = None) -> None:
        """Show the last turns of a conversation that was there before; what is told meanwhile is part of them.

        Of those that `before` has shown, which is about the same conversation, nothing is shown again.
        """
        page = Replayed(())
        try:
            page = await self.services.sessions.replay(self.session, "", _SHOWN_MESSAGES)
            if before is not None:
                page = Replayed(tuple(each for each in page.events if each.turn > before.last_turn))
                self.shown.plan = before.shown.plan
        finally:
            self._show(page)

    def _show(self, page: Replayed) -> None:
        if page.before:
            self.shown.notice("info", "What came before is stored and not shown here; Alt-h shows it.")
        for envelope in self._told(page):
            self.shown.take(envelope)
        self.shown.queue = [(each.id, each.text) for each in self.session.line.waiting()]
        held, self._held = self._held or [], None
        for envelope in held:
            if isinstance(envelope.event, _TOLD_ONCE):
                self.shown.take(envelope)
        if (holder := self.session.holder) is not None:
            self.shown.holder = facts(holder)
            self.shown.notice("warning", news.elsewhere(self.shown.holder))

    def _told(self, page: Replayed) -> list[Envelope]:
        return [*page.events, *self.services.standing(self.session.id).late()]

    async def send(self, text: str, cwd: Path) -> None:
        """Send a prompt; it waits when a turn runs. Raises policy/`read_only`."""
        await self.session.submit(Prompt(text, cwd=cwd))

    def answer(self, question: str, decision: str) -> None:
        """Answer a question, if it is still open."""
        if self.session.approvals.pending(question):
            self.session.approvals.answer(question, decision)

    def failed(self, error: AgentError) -> None:
        """Show what went wrong."""
        self.shown.notice("error", error.message)

    def answered(self, line: str, result: Result) -> None:
        """Show what a command line said, but for pages."""
        if result.error is not None:
            self.shown.answer_command(line, result.error.message, "error")
        elif result.text:
            self.shown.answer_command(line, result.text)

    async def whole(self) -> list[str]:
        """Every line of the conversation, nothing left out."""
        page = await self.services.sessions.replay(self.session, "", _ALL_MESSAGES)
        return transcript(folded(self._told(page)).blocks, _WIDTH)

    def messages(self) -> list[str]:
        """The messages as they are stored: id, who, what."""
        return [line for message in self.session.talk.messages for line in _described(message)]


def _described(message: Message) -> list[str]:
    kind = type(message).__name__.removesuffix("Message").lower()
    text = str(getattr(message, "content", "") or getattr(message, "text", ""))
    calls = [f"    call {call.name} {call.arguments}" for call in getattr(message, "calls", ())]
    name = getattr(message, "name", "")
    head = f"# {message.id} {kind}{f' {name}' if name else ''}, {len(text)} characters"
    return [head, *(f"    {line}" for line in text.split("\n") if text), *calls, ""]
