from collections.abc import AsyncIterator, Sequence

from smith_server.core.cancel import CancelToken
from smith_server.core.ports import Delta, Request


class FakeProvider:
    """Answers each request with the next list of deltas; an asyncio.Event in a list is waited for."""

    name = "fake"

    def __init__(self, *replies: Sequence[object]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def stream(self, request: Request, token: CancelToken) -> AsyncIterator[Delta]:
        self.requests.append(request)
        for item in self.replies.pop(0):
            if hasattr(item, "wait"):
                await item.wait()
            else:
                yield item
