"""`code_files`: files by name."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.exploring import Exploring
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

MOST = 500

_answer: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.explored.files:answer")


class FilesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    query: str
    path: str = ""
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 50


class CodeFiles:
    """Finds through `exploring`."""

    name = "code_files"
    effect = Effect.READ
    args = FilesArguments
    text = text_of(__file__)

    def __init__(self, exploring: Exploring) -> None:
        self._exploring = exploring

    async def preview(self, args: FilesArguments, context: ToolContext) -> Preview:
        """The query, and where."""
        return Preview(visible(f"{args.query} in {args.path or '.'}"))

    async def run(self, args: FilesArguments, context: ToolContext) -> ToolResult:
        """One path a line."""
        return await _answer(self._exploring.explorer(), args, context)
