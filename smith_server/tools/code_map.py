"""`code_map`: what a folder holds, at a glance."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.exploring import Exploring
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

_answer: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.explored.map:answer")


class MapArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    path: str = ""
    depth: Annotated[int, Meta(ge=1, le=10)] = 3


class CodeMap:
    """Draws what `exploring` lists."""

    name = "code_map"
    effect = Effect.READ
    args = MapArguments
    text = text_of(__file__)

    def __init__(self, exploring: Exploring) -> None:
        self._exploring = exploring

    async def preview(self, args: MapArguments, context: ToolContext) -> Preview:
        """The folder."""
        return Preview(visible(args.path or "."))

    async def run(self, args: MapArguments, context: ToolContext) -> ToolResult:
        """The languages, then one line per folder: files in all, and the names of those right in it."""
        return await _answer(self._exploring.explorer(), args, context)
