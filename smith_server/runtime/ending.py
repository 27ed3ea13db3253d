"""How a turn ends, whatever happens in it: with an end, a valid conversation, and one last event."""

import logging
from collections.abc import Awaitable

from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentFailure, Cancelled, normalize, public
from smith_server.core.events import Event, MessageAdded, TurnCancelled, TurnCompleted, TurnFailed
from smith_server.core.ports import Emit
from smith_server.core.turn import TurnEnd

log = logging.getLogger(__name__)


async def ended(work: Awaitable[TurnEnd], talk: Conversation, emit: Emit) -> TurnEnd:
    """The end of `work`, also when it raises; afterwards every call has its result."""
    try:
        end = await work
    except Cancelled as problem:
        end = TurnEnd("cancelled", error=problem.error)
    except AgentFailure as problem:
        end = TurnEnd("error", error=problem.error)
    except Exception as problem:
        log.exception("a turn failed")
        end = TurnEnd("error", error=normalize(problem))
    for message in talk.close("interrupted", "Not finished: the turn broke off."):
        emit(MessageAdded(message=message))
    return end


def last_event(end: TurnEnd) -> Event:
    """The one event that nothing of the turn follows."""
    match end.stop_reason:
        case "cancelled":
            return TurnCancelled(usage=end.usage)
        case "error":
            assert end.error is not None, "a turn that failed says why"
            return TurnFailed(error=public(end.error), usage=end.usage)
        case reason:
            return TurnCompleted(stop_reason=reason, usage=end.usage)
