"""What the next request of a conversation would be, and what takes its space; shortening it on demand."""

from typing import cast

from msgspec import Struct, structs

from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentFailure
from smith_server.core.messages import UserMessage
from smith_server.core.ports import Request
from smith_server.core.space import Space
from smith_server.core.window import Shown
from smith_server.runtime.assemble import Assembler
from smith_server.runtime.line import Prompt
from smith_server.runtime.session import Session
from smith_server.runtime.view import WindowView


class NextRequest(Struct, frozen=True):
    """What would be sent, to whom, and what of the conversation that leaves out; `ceiling` is in tokens. Above
    `trigger` tokens room is made first."""

    request: Request
    provider: str
    shown: Shown
    trigger: int
    ceiling: int


class Outlook:
    """Looks ahead without a turn."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._keeping = assembler.keeping

    async def next_request(self, session: Session, prompt: Prompt) -> NextRequest:
        """The request that `prompt` would send first; without a text the one that the conversation as it is would."""
        turn = await self._assembler.input_aside(session, prompt)
        fresh, kept = cast(WindowView, turn.view), self._keeping.known(session.id)
        # The kept view may be in the hands of a running turn: it is looked at, and neither used nor replaced.
        view = kept.view if kept and kept.view is not None and kept.view.rules == fresh.rules else fresh
        said = [UserMessage("", prompt.text, prompt.attached)] if prompt.text else []
        shown = view.look([*session.talk.messages, *said], fresh.frame)
        request = structs.replace(fresh.frame, messages=shown.messages)
        return NextRequest(request, turn.provider.name, shown, int(view.rules.trigger), view.rules.ceiling)

    def ceiling(self, conversation: str) -> int:
        """The most tokens that a request of a conversation may have, as of its last turn; 0 before there was one."""
        kept = self._keeping.known(conversation)
        return kept.view.rules.ceiling if kept is not None and kept.view is not None else 0

    async def compact(self, session: Session, token: CancelToken) -> Compaction:
        """Shorten what is sent of a conversation that no turn is writing. Raises `Cancelled`, and a `budget_exhausted`
        failure `max_cost` when there is no money left for a summary."""
        turn = await self._assembler.own_input(session, token)
        if (error := turn.budget.overspent(turn.meter.spent)) is not None:
            raise AgentFailure(error)
        view = cast(WindowView, turn.view)
        record = await view.compact(session.talk.messages)
        view.used()
        return record

    async def space(self, session: Session) -> Space:
        """What takes the space of the next request."""
        kept = self._keeping.known(session.id)
        # The view of a running turn stays as that turn made it.
        view = kept.view if kept is not None and session.busy else None
        if view is None:
            view = cast(WindowView, (await self._assembler.own_input(session, CancelToken())).view)
        return view.space(session.talk.messages)
