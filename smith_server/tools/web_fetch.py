"""`web_fetch`: one page of the public web as text. How it is got lies in `web_page`, loaded with the first call."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

if TYPE_CHECKING:
    from smith_server.tools.web_guard import Guard

_SECONDS = 60.0
_MOST_CHARS = 30_000

_fetched: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.web_page:fetched")


class WebFetchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(min_length=1, max_length=4000)]
    max_chars: Annotated[int, Meta(ge=1, le=190_000, description="of the text")] = _MOST_CHARS


class WebFetch:
    """Fetches through what `guard` makes; `max_bytes` bounds the text of a page, `seconds` all of a fetch."""

    name = "web_fetch"
    effect = Effect.NETWORK
    args = WebFetchArguments
    text = text_of(__file__)

    def __init__(self, guard: "Callable[[], Guard]", max_bytes: int = 262_144, seconds: float = _SECONDS) -> None:
        self._guard = guard
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def preview(self, args: WebFetchArguments, context: ToolContext) -> Preview:
        """The whole address, nothing in it invisible."""
        return Preview(visible(args.url))

    async def run(self, args: WebFetchArguments, context: ToolContext) -> ToolResult:
        """Get it. An answer that says that there is no such page is a refusal, `http_error`."""
        return await _fetched(self._guard(), args.url, args.max_chars, max_bytes=self._max_bytes, seconds=self._seconds)
