"""`record`: keeps a text under a key for the rest of the conversation."""

from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.ports import Scratchpad
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.text import text_of


class RecordArguments(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(pattern=r"\S", max_length=200)]
    value: str


class Record:
    """Writes to the scratchpad of one conversation."""

    name = "record"
    effect = Effect.TALK
    args = RecordArguments
    text = text_of(__file__)

    def __init__(self, scratchpad: Scratchpad) -> None:
        self._scratchpad = scratchpad

    async def preview(self, args: RecordArguments, context: ToolContext) -> Preview:
        return Preview(args.key)

    async def run(self, args: RecordArguments, context: ToolContext) -> ToolResult:
        await self._scratchpad.put(args.key.strip(), args.value)
        return ToolResult(f"recorded under {args.key.strip()!r}", f"{len(args.value)} characters")
