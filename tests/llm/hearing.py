"""Asking a provider and hearing what it says."""

import msgspec

from smith_server.core.cancel import CancelToken
from smith_server.core.messages import Text, UserMessage
from smith_server.core.ports import Delta, Done, Failed, Request
from smith_server.llm.http import Connections
from smith_server.llm.presets import Preset
from smith_server.llm.provider import HttpProvider
from smith_server.llm.stall import Timeouts
from tests.llm.server import Answering, Line, Server, serving
from tests.llm.streams import DONE, event, text

KEY = "sk-secret-0123456789"
REQUEST = Request("m", "Be brief.", (UserMessage("1", "Hi"),))
WHOLE = msgspec.structs.replace(REQUEST, stream=False)
SOON = 2.0
"""Seconds that stand for at once on a busy machine, far below any limit that could be meant."""


def custom(server: Server, **limits: float) -> Preset:
    return Preset("custom", server.url, "LLM_API_KEY", timeouts=Timeouts(**limits))


async def heard(provider: HttpProvider, request: Request = REQUEST, token: CancelToken | None = None) -> list[Delta]:
    return [delta async for delta in provider.stream(request, token or CancelToken())]


async def outcome(
    answering: Answering, connections: Connections, request: Request = REQUEST, **limits: float
) -> list[Delta]:
    """What a provider says when a server answers so."""
    async with serving(answering) as server:
        return await heard(HttpProvider(custom(server, **limits), connections, KEY), request)


def failed(deltas: list[Delta]) -> Failed:
    last = deltas[-1]
    assert isinstance(last, Failed), last
    return last


async def greeting(line: Line) -> None:
    await line.stream(text("He"), text("llo"), event(reason="stop"), DONE)


GREETED = Done((Text("Hello"),), "stop")
