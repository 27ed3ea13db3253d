"""`code_outline`: what one file defines."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.exploring import Exploring
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

_answer: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.explored.outline:answer")


class OutlineArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    path: str


class CodeOutline:
    """Asks `exploring`."""

    name = "code_outline"
    effect = Effect.READ
    args = OutlineArguments
    text = text_of(__file__)

    def __init__(self, exploring: Exploring) -> None:
        self._exploring = exploring

    async def preview(self, args: OutlineArguments, context: ToolContext) -> Preview:
        """The file."""
        return Preview(visible(args.path))

    async def run(self, args: OutlineArguments, context: ToolContext) -> ToolResult:
        """The definitions as a tree, in the order of the file."""
        return await _answer(self._exploring.explorer(), args, context)
