"""The `edit` tool: whole lines of a file, guarded by the hash of the text they were counted in."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.changes import Changes, Wish
from smith_server.workspace.edits import LineEdit
from smith_server.workspace.texts import Texts

_Line = Annotated[int, Meta(ge=1)]


class EditArgs(Struct, frozen=True, forbid_unknown_fields=True):  # no docstring: it would be sent with every request
    path: str
    hash: Annotated[str, Meta(description="of the lines you count")]
    operation: Literal["replace", "insert", "delete"]
    start_line: _Line
    end_line: Annotated[_Line | UnsetType, Meta(description="default: start_line")] = UNSET
    content: str = ""


class Edit:
    """Edits through `texts`."""

    name = "edit"
    effect = Effect.EDIT
    args = EditArgs

    def __init__(self, texts: Texts) -> None:
        self._changes = Changes(texts, self.name)
        self.text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()

    async def preview(self, args: EditArgs, context: ToolContext) -> Preview:
        """The diff of the edit."""
        return await self._changes.preview(_wish(args), context)

    async def run(self, args: EditArgs, context: ToolContext) -> ToolResult:
        """Replace, insert or delete the lines."""
        return await self._changes.run(_wish(args), context)


def _wish(args: EditArgs) -> Wish:
    end = args.start_line if isinstance(args.end_line, UnsetType) else args.end_line
    return Wish(args.path, LineEdit(args.operation, args.start_line, end, args.content), args.hash)
