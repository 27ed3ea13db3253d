"""Searching text: what ripgrep finds on disk, with open unsaved buffers searched as they stand in the editor."""

import asyncio
import heapq
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from smith_server.codebase.area import Area, Denied
from smith_server.codebase.blocks import KEPT_HEAD, Block, Blocks, Hit
from smith_server.codebase.definitions import defines
from smith_server.codebase.glob import path_pattern
from smith_server.codebase.languages import extension_of, is_code, language_of
from smith_server.codebase.rank import Kind, kind_of, kind_of_folder, order
from smith_server.codebase.ripgrep import TROUBLE, Ripgrep
from smith_server.core.editor import OpenText
from smith_server.core.errors import ToolRefusal
from smith_server.proc.looking import Looked

LONGEST_LINE = 8192
"""Bytes of a line that are taken."""

_LEAST_LINES = 8
_ROOT = Path("/")
_COUNTED = ("--line-number", "--column", f"--max-columns={LONGEST_LINE}", "--max-columns-preview")
_HEADED = (*_COUNTED, "--heading", "--null", "--with-filename")
_ANY_HINTS = (b"def ", b"class ", b"func", b"struct ", b"define", b"module ", b"type ", b"enum ")
_HINTS: Mapping[str, Sequence[bytes]] = MappingProxyType(
    {
        "py": (b"def ", b"class "),
        "rs": (b"fn ", b"struct ", b"enum ", b"trait ", b"mod ", b"type ", b"macro_rules!"),
        "go": (b"func ", b"type "),
        "el": (b"(def", b"(cl-def"),
        "rb": (b"def ", b"class ", b"module "),
        "c": (b") {", b"struct ", b"#define ", b"enum ", b"union "),
        "java": (b"class ", b"interface ", b"enum ", b") {"),
        "js": (b"function", b"class ", b"const ", b") {", b"let "),
    }
)


class Wish(Struct, frozen=True):
    """What to look for. `glob` narrows the files as in an ignore file; with `!` in front it excludes."""

    pattern: str
    glob: str = ""
    ignore_case: bool = False


class Line(Struct, frozen=True):
    """A matching line: number, text without its end, the character where the match begins."""

    number: int
    text: str
    at: int
    defines: bool


class FileHits(Struct, frozen=True):
    """The matching lines of one file: those that are known, and how many there are."""

    path: str
    kind: Kind
    lines: tuple[Line, ...]
    count: int


class Found(Struct, frozen=True):
    """What was found, the best files first.

    `files` has the best of `file_count`; `line_count` is of all of them. `literal` says that the
    pattern was no valid expression; `whole` is false when the search was ended at its limit.
    """

    files: tuple[FileHits, ...]
    file_count: int
    line_count: int
    literal: bool = False
    whole: bool = True


class Grep:
    """Searches for one turn."""

    def __init__(self, ripgrep: Ripgrep, denied: Denied | None) -> None:
        self._ripgrep = ripgrep
        self._denied = denied

    async def search(self, wish: Wish, area: Area, buffers: Sequence[OpenText], most: int = 500) -> Found:
        """The lines that match below `area`; `buffers` are open texts that differ from their files.

        `most` is how many lines are wanted: no more files are looked at closely.

        Raises what `Ripgrep.run` raises, and `search_timeout` when nothing was found in time.
        """
        blocks, literal, whole = await self._on_disk(wish, area)
        chosen = _chooser(wish.glob, area)
        for buffer in buffers:
            path = path_in(area, buffer.path)
            if path and chosen(path):
                blocks.pop(path, None)
                blocks |= await self._in_text(wish, literal, path, buffer.text)
        kept = list(blocks.values())
        if wish.glob or self._denied is not None:
            kept = [block for block in kept if chosen(block.path) and area.visible(block.path, self._denied)]
        if not kept and not whole:
            raise ToolRefusal("search_timeout", "The search took too long. Name a folder further down, or a glob.")
        lines = sum(block.count for block in kept)
        return Found(await asyncio.to_thread(_ranked, kept, most), len(kept), lines, literal, whole)

    async def _on_disk(self, wish: Wish, area: Area) -> tuple[dict[str, Block], bool, bool]:
        words = (*_HEADED, *_types(wish.glob, area))
        target = f"./{area.file}" if area.file else "./"
        blocks, looked = await self._run(wish, False, words, (target, area.folder))
        # Files that cannot be read give the same code as a pattern that is none.
        if blocks or looked.code != TROUBLE or await self._is_valid(wish):
            return blocks, False, looked.ended == "itself"
        blocks, looked = await self._run(wish, True, words, (target, area.folder))
        return blocks, True, looked.ended == "itself"

    async def _run(
        self, wish: Wish, literal: bool, words: Sequence[str], where: tuple[str, Path]
    ) -> tuple[dict[str, Block], Looked]:
        blocks = Blocks()
        target, folder = where
        looked = await self._ripgrep.run((*words, *_pattern(wish, literal), "--", target), folder, blocks.take)
        return blocks.finish(), looked

    async def _is_valid(self, wish: Wish) -> bool:
        words = (*_pattern(wish, False), "--", "-")
        return (await self._ripgrep.run(words, _ROOT, lambda _: True, b"\n")).code != TROUBLE

    async def _in_text(self, wish: Wish, literal: bool, path: str, text: str) -> dict[str, Block]:
        blocks = Blocks(path)
        data = text.encode("utf-8", "surrogatepass")
        if data:
            words = (*_COUNTED, "--no-filename", *_pattern(wish, literal), "--", "-")
            await self._ripgrep.run(words, _ROOT, blocks.take, data)
        return {name: block for name, block in blocks.finish().items() if block.count}


def path_in(area: Area, path: Path) -> str:
    """The path of a file relative to the folder of `area`, "" when it is not in there or hidden."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(area.folder) or (area.file and real != area.folder / area.file):
        return ""
    inside = real.relative_to(area.folder)
    hidden = not area.file and any(part.startswith(".") for part in inside.parts)
    return "" if hidden else str(inside)


def _pattern(wish: Wish, literal: bool) -> Sequence[str]:
    words = ["--fixed-strings"] if literal else ["--engine=auto"]
    if wish.ignore_case:
        words.append("--ignore-case")
    if not literal and ("\n" in wish.pattern or "\\n" in wish.pattern):
        words.append("--multiline")
    return (*words, f"--regexp={wish.pattern}")


def _types(glob: str, area: Area) -> Sequence[str]:
    """A glob for names as a file type: as a glob it would bring back ignored and hidden files."""
    name = glob.removeprefix("!")
    if not name or "/" in name or area.file:
        return ()
    return (f"--type-add=smith:{name}", "--type-not=smith" if glob.startswith("!") else "--type=smith")


def _chooser(glob: str, area: Area) -> Callable[[str], bool]:
    if not glob or area.file:
        return lambda _: True
    # A file of the wanted type is searched although it is hidden.
    hidden = re.compile(r"(?:^|/)\.")
    pattern = re.compile(path_pattern(glob.removeprefix("!")), re.DOTALL)
    excludes = glob.startswith("!")
    return lambda path: (pattern.fullmatch(path) is None) == excludes and not hidden.search(path)


def _ranked(blocks: Sequence[Block], most: int) -> tuple[FileHits, ...]:
    """The best files: those that may define what was matched, then by kind and nearness."""
    best = list(itertools.islice(_best(blocks), most))
    lines = max(_LEAST_LINES, 4 * most // max(len(best), 1))
    files = [_file(block, lines) for block in best]
    files.sort(key=lambda file: (not any(line.defines for line in file.lines), *order(file.path)))
    return tuple(files)


def _best(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, the most promising first. What a folder tells is known at once; a name is looked at in its turn."""
    heap: list[tuple[bool, Kind, int, str, bool, Block]] = []
    for block in blocks:
        path = block.path
        kind = kind_of_folder(path.rpartition("/")[0])
        heap.append((not _may_define(block), kind, path.count("/"), path, False, block))
    heapq.heapify(heap)
    while heap:
        rest, kind, depth, path, certain, block = heapq.heappop(heap)
        exact = kind if certain else kind_of(path)
        if exact == kind:
            yield block
        else:
            heapq.heappush(heap, (rest, exact, depth, path, True, block))


def _may_define(block: Block) -> bool:
    head = block.head if len(block.head) <= KEPT_HEAD else block.head[:KEPT_HEAD]
    for word in _HINTS.get(extension_of(block.path), _ANY_HINTS):  # noqa: SIM110 - for very many blocks
        if word in head:
            return True
    return False


def _file(block: Block, most: int) -> FileHits:
    language = language_of(block.path) if is_code(extension_of(block.path)) else ""
    lines = tuple(_line(hit, language) for hit in itertools.islice(block.hits(), most))
    return FileHits(block.path, kind_of(block.path), lines, block.count)


def _line(hit: Hit, language: str) -> Line:
    raw = hit.text[:LONGEST_LINE]
    at = len(raw[: hit.at].decode("utf-8", "replace"))
    text = raw.decode("utf-8", "replace").removesuffix("\r")
    return Line(hit.line, text, at, bool(language) and hit.at < LONGEST_LINE and defines(text, at, language))
