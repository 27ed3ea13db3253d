"""What a run has used, its sub-agents included, folded from its events."""

from collections.abc import Iterator

from smith_server.core.events import Envelope, TurnCancelled, TurnCompleted, TurnFailed
from smith_server.core.messages import Usage
from smith_server.llm.pricing import cost_of


class Spent:
    """A listener of the bus. `usage` is of all turns that have ended, those of sub-agents too."""

    def __init__(self) -> None:
        self.usage = Usage()

    def take(self, envelope: Envelope) -> None:
        """Take in one event."""
        match envelope.event:
            case TurnCompleted(usage=usage) | TurnCancelled(usage=usage) | TurnFailed(usage=usage):
                self.usage = self.usage + usage

    def lines(self) -> Iterator[str]:
        """For people: the tokens, those that a cache had a part in only if there are any, and the cost."""
        used = self.usage
        if not used.context and not used.output:
            return
        cached = used.cache_write + used.cache_read
        more = f" ({used.cache_read} from the cache, {used.cache_write} into it)" if cached else ""
        yield f"tokens: {used.context} in{more}, {used.output} out"
        yield f"cost: {cost_of(used)}"
