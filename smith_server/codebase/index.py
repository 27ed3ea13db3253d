"""The definitions of a whole tree: looked up where nothing changed, taken apart where something did."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from smith_server.codebase.area import Area
from smith_server.codebase.cache import MOST_FILES, Cache, Kept, Stamp, stamp_of
from smith_server.codebase.grep import path_in
from smith_server.codebase.languages import BY_EXTENSION, extension_of, is_code
from smith_server.codebase.matching import Answer, Question, answer
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.codebase.symbol import Packed
from smith_server.codebase.worker import FAILED, TOO_LARGE, TOOK_TOO_LONG, Parsed, Work, digest
from smith_server.codebase.workers import Workers
from smith_server.config.paths import project_root
from smith_server.core.editor import OpenText

_READ_AGAIN = 1_000_000
"""Bytes of files that are read to see whether their content is known."""

_SOME = 64
"""Not worth a search for those that hold the word."""

_EVERY = 0.5

Progress = Callable[[str], None]


class Scope(Struct, frozen=True):
    """Where to look: a area, the files below it in the order of interest, the open texts that differ from disk."""

    area: Area
    paths: Sequence[str]
    buffers: Sequence[OpenText]


class _Stale(Struct, frozen=True):
    """A file of which nothing certain is known."""

    path: str
    real: str
    stamp: Stamp


class Index:
    """Of one process; remembers the tree that was asked about last. `folder` keeps what was found, None nothing."""

    def __init__(self, folder: Path | None, workers: Workers | None = None) -> None:
        self._folder = folder
        self._workers = workers or Workers()
        self._lock = asyncio.Lock()
        self._root: Path | None = None
        self._kept = Kept()

    async def search(self, asked: Question, scope: Scope, ripgrep: Ripgrep, progress: Progress) -> Answer:
        """The definitions that fit. `progress` is told now and then how far it is.

        Raises what `Ripgrep.run` raises.
        """
        async with self._lock:
            return await self._search(asked, scope, ripgrep, progress)

    async def _search(self, asked: Question, scope: Scope, ripgrep: Ripgrep, progress: Progress) -> Answer:
        area = scope.area
        root = await asyncio.to_thread(project_root, area.folder)
        cache = Cache(self._folder, root)
        if self._root != root:
            self._kept, self._root = await asyncio.to_thread(cache.load), root
        prefix = "" if area.folder == root else f"{area.folder.relative_to(root)}/"
        sources = [path for path in scope.paths if is_source(path)]
        known, stale = await asyncio.to_thread(self._known, area, prefix, sources)
        if len(stale) > _SOME and asked.word:
            holders = await _holders(asked.word, area, ripgrep)
            stale = [file for file in stale if file.path in holders]
        fresh, unread = await self._fresh(stale, progress)
        if fresh:
            self._remember(prefix, fresh)
            await asyncio.to_thread(cache.save, self._kept)
        known |= {file.path: found.packed for file, found in fresh if found.packed is not None}
        open_texts, no_time = await self._in_buffers(scope)
        known |= open_texts
        large = tuple(file.path for file, found in fresh if found.why == TOO_LARGE and file.path not in open_texts)
        found = await asyncio.to_thread(answer, asked, known, sources)
        return structs.replace(found, large=large, unread=unread + no_time)

    async def outline(self, path: str, text: str) -> Parsed:
        """What `text` defines, a file that is named `path`. Waits for no search."""
        found: list[Parsed] = []
        work = Work(path, text.encode("utf-8", "surrogatepass"), exact=True)
        await self._workers.parse([work], lambda _, parsed: found.append(parsed))
        return found[0] if found else Parsed(b"", None, TOOK_TOO_LONG)

    async def _in_buffers(self, scope: Scope) -> tuple[dict[str, Packed], int]:
        """The definitions of the texts that stand in the editor, and how many texts there was no time for."""
        known: dict[str, Packed] = {}

        def take(path: str, found: Parsed) -> None:
            if found.packed is not None:
                known[path] = found.packed

        inside = [(path_in(scope.area, buffer.path), buffer.text) for buffer in scope.buffers]
        works = [Work(path, text.encode("utf-8", "surrogatepass")) for path, text in inside if path and is_source(path)]
        return known, await self._workers.parse(works, take) if works else 0

    def _known(self, area: Area, prefix: str, sources: Sequence[str]) -> tuple[dict[str, Packed], list[_Stale]]:
        """What is remembered of files that have not changed since, and the others."""
        known: dict[str, Packed] = {}
        stale: list[_Stale] = []
        nothing = (None, b"")
        folder, seen_before, symbols = f"{area.folder}/", self._kept.seen, self._kept.symbols
        for path in sources:
            real = folder + path
            stamp = stamp_of(real)
            if stamp is None:
                continue
            seen, found = seen_before.get(prefix + path, nothing)
            packed = symbols.get(found) if seen == stamp else None
            if packed is not None:
                known[path] = packed
            else:
                stale.append(_Stale(path, real, stamp))
        return known, stale

    async def _fresh(self, stale: Sequence[_Stale], progress: Progress) -> tuple[list[tuple[_Stale, Parsed]], int]:
        """What these files define, and how many there was no time for."""
        fresh: list[tuple[_Stale, Parsed]] = []
        if self._kept.symbols:
            fresh = await asyncio.to_thread(self._same_content, stale)
            settled = {file.path for file, _ in fresh}
            stale = [file for file in stale if file.path not in settled]
        if not stale:
            return fresh, 0
        by_real = {file.real: file for file in stale}
        told = _Told(progress, len(stale))

        def take(real: str, found: Parsed) -> None:
            fresh.append((by_real[real], found))
            told.one_more()

        unread = await self._workers.parse([Work(path) for path in by_real], take)
        return fresh, unread + sum(found.why in (TOOK_TOO_LONG, FAILED) for _, found in fresh)

    def _same_content(self, stale: Sequence[_Stale]) -> list[tuple[_Stale, Parsed]]:
        """Files that were only touched, or hold again what was seen before."""
        found: list[tuple[_Stale, Parsed]] = []
        for file in stale:
            if file.stamp[0] > _READ_AGAIN:
                continue
            try:
                key = digest(Path(file.real).read_bytes())
            except OSError:
                continue
            packed = self._kept.symbols.get(key)
            if packed is not None:
                found.append((file, Parsed(key, packed)))
        return found

    def _remember(self, prefix: str, fresh: Iterable[tuple[_Stale, Parsed]]) -> None:
        for file, found in fresh:
            name = prefix + file.path
            full = len(self._kept.seen) >= MOST_FILES and name not in self._kept.seen
            if found.packed is None or full or not _is_unicode(name):
                continue
            self._kept.seen[name] = (file.stamp, found.hash)
            self._kept.symbols[found.hash] = found.packed


def is_source(path: str) -> bool:
    """Whether a file is looked through for definitions."""
    return is_code(extension_of(path.rpartition("/")[2]))


async def _holders(word: str, area: Area, ripgrep: Ripgrep) -> set[str]:
    """The files below `area` that hold a word: no other can define it."""
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    words = ("--files-with-matches", "--null", "--ignore-case", "--fixed-strings", f"--regexp={word}")
    types = [f"--type-add=smith:*.{extension}" for extension in BY_EXTENSION if is_code(extension)]
    await ripgrep.run((*words, *types, "--type=smith", "--", "./"), area.folder, take)
    names = b"".join(pieces).split(b"\0")[:-1]
    return {name.decode("utf-8", "surrogateescape").removeprefix("./") for name in names}


def _is_unicode(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name) if not name.isascii() else True


class _Told:
    """Tells from threads how far it is, not too often."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._next = time.monotonic() + _EVERY
        self._loop = asyncio.get_running_loop()

    def one_more(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self._loop.call_soon_threadsafe(self._progress, f"{self._done:,} of {self._total:,} files looked at\n")
