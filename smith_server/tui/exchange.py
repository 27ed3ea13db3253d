"""What a session shows: one conversation, and another one when a line that was typed leads there."""

import asyncio
from contextlib import suppress
from pathlib import Path

from smith_server.core.errors import AgentFailure
from smith_server.core.events import ConversationChanged, Envelope
from smith_server.runtime.commands.result import Result
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.tui.surface import Surface
from smith_server.tui.talk import Talk
from smith_server.tui.transcript import Transcript


class Exchange:
    """Lines in, the conversation that they belong to out, as `talk` and as `transcript`."""

    def __init__(self, services: Services, session: Session, surface: Surface) -> None:
        self._services = services
        self._surface = surface
        self._is_stale = False
        self._showing = asyncio.Lock()
        self._open(session)

    @property
    def session(self) -> Session:
        """The conversation that is shown."""
        return self.talk.session

    async def send(self, text: str, cwd: Path) -> None:
        """Send a prompt. Raises what `Talk.send` and the opening of a conversation raise."""
        await self._look_again()
        await self.talk.send(text, cwd)

    async def command(self, line: str) -> Result:
        """Run a command line and show what it said, but for pages, in the conversation that it leads to."""
        with suppress(AgentFailure):
            await self._look_again()
        result: Result = await self._services.run_line(line, self.session)
        await self._services.bus.told()
        chosen = self._services.sessions.known(str(result.data.get("conversation", "")))
        await self._show(None if chosen is self.session else chosen)
        self.talk.answered(line, result)
        return result

    def take(self, envelope: Envelope) -> bool:
        """Take an event of the conversation in; whether its messages were changed, so that `refresh` is due."""
        self.talk.take(envelope)
        event = envelope.event
        is_rewritten = isinstance(event, ConversationChanged) and event.change == "rewritten"
        self._is_stale = self._is_stale or is_rewritten
        return is_rewritten

    async def refresh(self) -> None:
        """Show the messages as they are stored now, unless somebody did since they were changed."""
        await self._show()

    def _open(self, session: Session) -> None:
        self.talk = Talk(self._services, session)
        self.transcript = Transcript(self.talk.shown, self._surface.painter, lead=1)
        self._surface.curtain.stop()

    async def _look_again(self) -> None:
        """Somebody else may write the conversation by now, or nobody any more."""
        session = await self._services.sessions.get(self.session.id, self.session.root)
        if session is not self.session:
            await self._show(session)

    async def _show(self, session: Session | None = None) -> None:
        """Show a conversation as it is stored; without one the same again, if its messages were changed."""
        async with self._showing:
            if session is None and not self._is_stale:
                return
            before, anew = self.talk, session is None or self._is_stale
            rows = self.transcript.finished(self._surface.size.columns)
            self._is_stale = False
            if anew:
                self._surface.clear(forgets=True)
            else:
                self._surface.put_above(rows)
            self._open(session or self.session)
            await self.talk.replay(None if anew or before.session.id != self.session.id else before)
        self._surface.changed()
