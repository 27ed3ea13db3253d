"""`code_symbols`: where a name is defined, in the whole tree."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from smith_server.core.late import late
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.exploring import Exploring
from smith_server.tools.output import visible
from smith_server.tools.text import text_of

MOST = 300
Kind = Literal[
    "",
    "class",
    "constant",
    "enum",
    "field",
    "function",
    "interface",
    "macro",
    "method",
    "module",
    "namespace",
    "prototype",
    "struct",
    "type",
    "union",
    "variable",
]

_answer: Callable[..., Awaitable[ToolResult]] = late("smith_server.tools.explored.symbols:answer")


class SymbolsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    query: str
    kind: Kind = ""
    path: str = ""
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 40


class CodeSymbols:
    """Asks `exploring`."""

    name = "code_symbols"
    effect = Effect.READ
    args = SymbolsArguments
    text = text_of(__file__)

    def __init__(self, exploring: Exploring) -> None:
        self._exploring = exploring

    async def preview(self, args: SymbolsArguments, context: ToolContext) -> Preview:
        """The name, and where."""
        return Preview(visible(f"{args.query} in {args.path or '.'}"))

    async def run(self, args: SymbolsArguments, context: ToolContext) -> ToolResult:
        """Path, lines, kind and first line of each definition; equal names first."""
        return await _answer(self._exploring.explorer(), args, context)
