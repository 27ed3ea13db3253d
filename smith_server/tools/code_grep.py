"""`code_grep`: lines that match."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.exploring import Exploring
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

MOST = 500
_MOST_CONTEXT = 10

_answer: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.explored.grep:answer")


class GrepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    pattern: Annotated[str, Meta(min_length=1)]
    path: str = ""
    glob: Annotated[str, Meta(description="*.py, src/**, !*.min.js")] = ""
    ignore_case: bool = False
    context: Annotated[int, Meta(ge=0, le=_MOST_CONTEXT, description="lines around each")] = 0
    max: Annotated[int, Meta(ge=1, le=MOST)] = 60


class CodeGrep:
    """Searches through `exploring`."""

    name = "code_grep"
    effect = Effect.READ
    args = GrepArguments
    text = text_of(__file__)

    def __init__(self, exploring: Exploring) -> None:
        self._exploring = exploring

    async def preview(self, args: GrepArguments, context: ToolContext) -> Preview:
        """The pattern, and where."""
        return Preview(visible(f"{args.pattern} in {args.path or '.'}"))

    async def run(self, args: GrepArguments, context: ToolContext) -> ToolResult:
        """The lines, best first; that there are none is a good result too."""
        return await _answer(self._exploring.explorer(), args, context)
