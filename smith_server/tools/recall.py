"""`recall`: gives back what was recorded, or lists it."""

from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.ports import Scratchpad
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.text import text_of

_MOST_LISTED = 200


class RecallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(max_length=200)]
    prefix: Annotated[bool, Meta(description="list the keys that begin with key")] = False


class Recall:
    """Reads the scratchpad of one conversation."""

    name = "recall"
    effect = Effect.READ
    args = RecallArguments
    text = text_of(__file__)

    def __init__(self, scratchpad: Scratchpad) -> None:
        self._scratchpad = scratchpad

    async def preview(self, args: RecallArguments, context: ToolContext) -> Preview:
        return Preview(args.key)

    async def run(self, args: RecallArguments, context: ToolContext) -> ToolResult:
        if args.prefix:
            return await self._listed(args.key)
        value = await self._scratchpad.get(args.key.strip())
        if value is None:
            raise ToolRefusal("not_found", f"Nothing is recorded under {args.key!r}. List the keys with prefix=true.")
        return ToolResult(value, f"{len(value)} characters")

    async def _listed(self, prefix: str) -> ToolResult:
        entries = await self._scratchpad.list(prefix.strip())
        lines = [f"{entry.key}: {entry.label}" for entry in entries[:_MOST_LISTED]]
        if len(entries) > _MOST_LISTED:
            lines.append(f"[{len(entries) - _MOST_LISTED} more; use a longer prefix]")
        return ToolResult("\n".join(lines) or "nothing is recorded", f"{len(entries)} keys")
