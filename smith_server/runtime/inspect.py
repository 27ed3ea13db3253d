"""Looking at the messages of a conversation, a page at a time."""

from collections.abc import Sequence

from smith_server.core.conversation import turn_of
from smith_server.core.messages import Message

MOST = 1000


def page(messages: Sequence[Message], before: str, limit: int) -> tuple[Sequence[Message], str]:
    """The newest `limit` messages before the one with id `before` ("" for the end), in order.

    Pages begin with the first message of a turn, so a page may be longer than `limit`. The second
    value is the `before` of the next page, "" when there is none.
    """
    end = next((at for at, message in enumerate(messages) if message.id == before), len(messages))
    start = max(0, end - max(1, min(limit, MOST)))
    while start and turn_of(messages[start].id) == turn_of(messages[start - 1].id):
        start -= 1
    return messages[start:end], messages[start].id if start else ""
