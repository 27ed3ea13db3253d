"""A tool that is loaded with its first call; until then the model only needs to be told of it.

Its text lies beside its code, the schema of its arguments in `schemas.json`, which `tools/gen_schemas.py` writes:
working them out costs a start more than everything else that it does.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core.messages import ToolSpec
from smith_server.core.tool import Effect, LooseArguments, Preview, Tool, ToolContext, ToolResult
from smith_server.tools.text import text_of

_HERE = Path(__file__).parent


class Announced:
    """The tool `name`, made by `make` when it is called. `more` is added to its text."""

    def __init__(self, name: str, make: Callable[[], Tool], more: str = "") -> None:
        self.name = name
        self._make = make
        self._more = more

    @property
    def text(self) -> str:
        return f"{text_of(f'{_HERE}/{self.name}')} {self._more}".rstrip()

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it."""
        return ToolSpec(self.name, self.text, dict(schemas()[self.name]))

    @property
    def effect(self) -> Effect:
        return self.tool.effect

    @property
    def args(self) -> type[Struct] | LooseArguments:
        return self.tool.args

    @cached_property
    def tool(self) -> Tool:
        """The tool itself, loaded by now."""
        return self._make()

    async def preview(self, args: Any, context: ToolContext) -> Preview:
        """See `Tool`."""
        return await self.tool.preview(args, context)

    async def run(self, args: Any, context: ToolContext) -> ToolResult:
        """See `Tool`."""
        return await self.tool.run(args, context)


@cache
def schemas() -> Mapping[str, Mapping[str, Any]]:
    """What `argument_schema` says of the arguments of each tool, by name."""
    return msgspec.json.decode((_HERE / "schemas.json").read_bytes(), type=dict[str, dict[str, Any]])
