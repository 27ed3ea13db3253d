"""`note`: the memory of the project, shared by all its conversations."""

import secrets
from typing import Annotated, Literal

from msgspec import Meta, Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.ports import Memory
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.text import text_of


class NoteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    action: Literal["list", "get", "upsert", "delete"]
    id: Annotated[str, Meta(max_length=200)] = ""
    content: str = ""


class Note:
    """Reads and writes the memory of one project; without a project (None) every call is refused."""

    name = "note"
    effect = Effect.TALK
    args = NoteArguments
    text = text_of(__file__)

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory

    async def preview(self, args: NoteArguments, context: ToolContext) -> Preview:
        return Preview(f"{args.action} {args.id}".strip())

    async def run(self, args: NoteArguments, context: ToolContext) -> ToolResult:
        memory = self._memory
        if memory is None:
            raise ToolRefusal("no_project", "This folder is no checkout with an origin, so it has no project memory.")
        if args.action == "list":
            entries = await memory.list()
            return ToolResult("\n".join(f"{each.key}: {each.label}" for each in entries) or "no notes")
        if args.action == "upsert":
            return await _upsert(memory, args)
        if not args.id.strip():
            raise ToolRefusal("invalid_arguments", f"{args.action} needs the id of a note.")
        if args.action == "delete":
            found = await memory.delete(args.id)
            return ToolResult(f"deleted {args.id}") if found else _missing(args.id)
        content = await memory.get(args.id)
        return ToolResult(content) if content is not None else _missing(args.id)


async def _upsert(memory: Memory, args: NoteArguments) -> ToolResult:
    if not args.content.strip():
        raise ToolRefusal("invalid_arguments", "upsert needs content. Use delete to remove a note.")
    name = args.id.strip() or secrets.token_hex(4)
    await memory.upsert(name, args.content)
    return ToolResult(f"noted as {name}")


def _missing(name: str) -> ToolResult:
    raise ToolRefusal("not_found", f"There is no note {name!r}. List them first.")
