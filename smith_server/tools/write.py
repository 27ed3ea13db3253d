"""The `write` tool: a new file, or all of a file that was read."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.changes import Changes, Wish
from smith_server.workspace.edits import Rewrite
from smith_server.workspace.texts import Texts


class WriteArgs(Struct, frozen=True, forbid_unknown_fields=True):  # no docstring: it would be sent with every request
    path: str
    content: str
    hash: Annotated[str, Meta(description="default: last read or edit")] = ""


class Write:
    """Writes through `texts`."""

    name = "write"
    effect = Effect.EDIT
    args = WriteArgs

    def __init__(self, texts: Texts) -> None:
        self._changes = Changes(texts, self.name)
        self.text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()

    async def preview(self, args: WriteArgs, context: ToolContext) -> Preview:
        """The diff between the file and its new text."""
        return await self._changes.preview(_wish(args), context)

    async def run(self, args: WriteArgs, context: ToolContext) -> ToolResult:
        """Make the file, or give it the text."""
        return await self._changes.run(_wish(args), context)


def _wish(args: WriteArgs) -> Wish:
    return Wish(args.path, Rewrite(args.content), args.hash)
