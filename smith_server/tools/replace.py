"""The `replace` tool: exact text in a file, once or everywhere."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.changes import Changes, Wish
from smith_server.workspace.edits import ExactEdit
from smith_server.workspace.texts import Texts


class ReplaceArgs(Struct, frozen=True, forbid_unknown_fields=True):  # no docstring: it would be sent with every request
    path: str
    old: Annotated[str, Meta(min_length=1, description="without line numbers")]
    new: str
    all: Annotated[bool, Meta(description="each place")] = False
    hash: Annotated[str, Meta(description="default: last read or edit")] = ""


class Replace:
    """Replaces through `texts`."""

    name = "replace"
    effect = Effect.EDIT
    args = ReplaceArgs

    def __init__(self, texts: Texts) -> None:
        self._changes = Changes(texts, "edit")
        self.text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()

    async def preview(self, args: ReplaceArgs, context: ToolContext) -> Preview:
        """The diff of the replacement."""
        return await self._changes.preview(_wish(args), context)

    async def run(self, args: ReplaceArgs, context: ToolContext) -> ToolResult:
        """Replace the text."""
        return await self._changes.run(_wish(args), context)


def _wish(args: ReplaceArgs) -> Wish:
    return Wish(args.path, ExactEdit(args.old, args.new, args.all), args.hash)
