"""What ripgrep writes, taken apart as it comes: one block of matching lines per file, bounded in memory. Pure.

A block is the path, NUL, and lines of the form `line:column:text`; blocks are parted by an empty line.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

KEPT_WHOLE = 16 << 20
"""While all blocks together are no larger they are kept as they are; after that the head of each."""

KEPT_HEAD = 2048
_LONGEST = 1 << 20
_LINE = re.compile(rb"(\d+):(\d+):([^\n]*)")


class Hit(Struct, frozen=True):
    """A matching line: its number, the byte at which the first match begins (from 0), its bytes."""

    line: int
    at: int
    text: bytes


class Block(Struct, gc=False):
    """The matches of one file: how many lines, and the first of them as they were written."""

    path: str
    count: int
    head: bytes

    def hits(self) -> Iterator[Hit]:
        """The lines that were kept; one that was cut off is left out."""
        for found in _LINE.finditer(self.head):
            yield Hit(int(found[1]), int(found[2]) - 1, found[3])


class Blocks:
    """Takes the output in pieces. What is kept depends on the whole alone, not on the order of files."""

    def __init__(self, path: str = "") -> None:
        """With a `path` all lines are of that file and no path stands before them."""
        self.found: dict[str, Block] = {}
        self._rest = f"{path}\0".encode("utf-8", "surrogateescape") if path else b""
        self._open: Block | None = None
        self._name = b""
        self._size = 0
        self._whole = True

    def take(self, piece: bytes) -> bool:
        """More output."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        for block in blocks:
            self._end(block)
        if len(self._rest) > _LONGEST:
            # The last line feed stays: it may be the first of the two that end the block.
            cut = max(self._rest.rfind(b"\n"), 0) or len(self._rest)
            self._add(self._rest[:cut])
            self._rest = self._rest[cut:]
        return True

    def finish(self) -> dict[str, Block]:
        """All files by path; nothing may follow."""
        self._end(self._rest.removesuffix(b"\n"))
        self._rest = b""
        return self.found

    def _end(self, block: bytes) -> None:
        if self._open is None and not self._name:
            path, nul, part = block.partition(b"\0")
            if nul and part:
                self._whole_block(path.decode("utf-8", "surrogateescape").removeprefix("./"), part)
                return
        self._add(block)
        self._open = None

    def _whole_block(self, name: str, part: bytes) -> None:
        """What `_add` does, for the usual case: there may be very many."""
        self.found[name] = Block(name, part.count(b"\n") + 1, part if self._whole else part[:KEPT_HEAD])
        self._grow(len(part))

    def _add(self, part: bytes) -> None:
        if self._open is None:
            path, nul, part = part.partition(b"\0")
            if not nul:  # a part of a name that holds an empty line, or at the end a word about a binary file
                self._name += path + b"\n\n"
                return
            name = (self._name + path).decode("utf-8", "surrogateescape").removeprefix("./")
            self._name = b""
            self._open = self.found.setdefault(name, Block(name, 0, b""))
        part = part.removeprefix(b"\n")
        if not part:
            return
        opened = self._open
        opened.count += part.count(b"\n") + 1
        kept = part if self._whole else part[:KEPT_HEAD]
        opened.head = b"\n".join((opened.head, kept)) if opened.head else kept
        if not self._whole:
            opened.head = opened.head[:KEPT_HEAD]
        self._grow(len(part))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._whole and self._size > KEPT_WHOLE:
            self._whole = False
            for block in self.found.values():
                block.head = block.head[:KEPT_HEAD]
