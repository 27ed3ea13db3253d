"""The `git` tool: what a repository says about itself, read and never changed."""

from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.output import shorten, visible
from smith_server.tools.plain import plain
from smith_server.tools.text import text_of
from smith_server.workspace.git import Git as Reader
from smith_server.workspace.git import GitRun

_FAILED = 128


class GitArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    args: Annotated[tuple[str, ...], Meta(min_length=1, description='words after git: ["log", "-n", "5", "--", "src"]')]


class Git:
    """Runs git through `reader`."""

    name = "git"
    effect = Effect.READ
    args = GitArguments
    text = text_of(__file__)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def preview(self, args: GitArguments, context: ToolContext) -> Preview:
        """The words as they stand, nothing in them invisible."""
        return Preview(visible(" ".join(("git", *args.args))))

    async def run(self, args: GitArguments, context: ToolContext) -> ToolResult:
        """What git wrote. Raises `git_failed` with its words, `git_timeout`, and what the reader refuses."""
        done = await self._reader.run(args.args, context.cwd)
        if not done.whole and not done.size:
            raise ToolRefusal("git_timeout", "git did not answer in time and was ended. Ask for less.")
        if done.whole and (done.code >= _FAILED or done.code < 0):
            said = plain(done.errors).strip() or f"git ended with {done.code}"
            raise ToolRefusal("git_failed", shorten(said, limit=4096))
        lines = done.lines
        title = " ".join(args.args[:1])
        return ToolResult(_told(done), f"git {visible(title)}: {lines} line{'' if lines == 1 else 's'}")


def _told(done: GitRun) -> str:
    head, tail = plain(done.head), plain(done.tail)
    kept = len(done.head) + len(done.tail)
    gap = done.lines - done.head.count(b"\n") - done.tail.count(b"\n")
    text = shorten(head, tail, done.size - kept, gap) if tail else shorten(head)
    notes = [] if done.whole else ["[git was ended at its time limit: this is not all. Ask for less.]"]
    if done.code and done.whole:
        notes.append(f"[exit code {done.code}]")
    body = text.removesuffix("\n") if text.strip() else "[no output]"
    return "\n".join([body, *notes])
