"""Which of many matching lines are shown: definitions first, a few of each file, no line twice. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from smith_server.codebase.grep import FileHits, Found, Line

_LEAST_PER_FILE = 3


class Folded(Struct, frozen=True):
    """One text of a file and all the lines that have it."""

    numbers: tuple[int, ...]
    line: Line


class Part(Struct, frozen=True):
    """Lines of one file that are shown together. `left_out` counts its lines that stand nowhere.

    `copies` are files of the same name with the very same lines.
    """

    path: str
    folded: tuple[Folded, ...]
    left_out: int = 0
    copies: tuple[str, ...] = ()


class Selection(Struct, frozen=True):
    """What is shown of a search, and how many lines of how many files are not."""

    parts: tuple[Part, ...]
    lines_left_out: int
    files_left_out: int


def select(found: Found, most: int) -> Selection:
    """At most `most` lines: all definitions that fit, then the other lines file by file."""
    files, copies = _without_copies(found.files)
    share = most if found.line_count <= most else max(_LEAST_PER_FILE, most // max(found.file_count, 1))
    parts: list[Part] = []
    left = most
    for file in files:
        defining = _folded([line for line in file.lines if line.defines][:left])
        if defining:
            parts.append(Part(file.path, defining))
            left -= sum(len(each.numbers) for each in defining)
    for file in files:
        using = _folded([line for line in file.lines if not line.defines][: min(left, share)])
        if using:
            parts.append(Part(file.path, using))
            left -= sum(len(each.numbers) for each in using)
    shown = _counts(parts)
    told = tuple(_finished(parts, files, shown, copies))
    gone = set(shown) | {path for path in shown for path in copies.get(path, ())}
    lines = sum(file.count for file in found.files if file.path in gone)
    return Selection(told, found.line_count - lines, found.file_count - len(gone))


def _finished(
    parts: Sequence[Part], files: Sequence[FileHits], shown: dict[str, int], copies: dict[str, tuple[str, ...]]
) -> Iterator[Part]:
    """The last part of each file tells what is not shown of it, and who has the same lines."""
    counts = {file.path: file.count for file in files}
    last = {part.path: index for index, part in enumerate(parts)}
    for index, part in enumerate(parts):
        ends = last[part.path] == index
        rest = counts[part.path] - shown[part.path] if ends else 0
        yield Part(part.path, part.folded, rest, copies.get(part.path, ()) if ends else ())


def _counts(parts: Iterable[Part]) -> dict[str, int]:
    shown: dict[str, int] = {}
    for part in parts:
        shown[part.path] = shown.get(part.path, 0) + sum(len(each.numbers) for each in part.folded)
    return shown


def _folded(lines: Sequence[Line]) -> tuple[Folded, ...]:
    """Lines of the same text as one, at the place of the first."""
    numbers: dict[str, list[int]] = {}
    first: dict[str, Line] = {}
    for line in lines:
        text = line.text.strip()
        numbers.setdefault(text, []).append(line.number)
        first.setdefault(text, line)
    return tuple(Folded(tuple(numbers[text]), line) for text, line in first.items())


def _without_copies(files: Sequence[FileHits]) -> tuple[Sequence[FileHits], dict[str, tuple[str, ...]]]:
    """The files, each content once; further names by the path that is kept."""
    kept: dict[tuple[object, ...], FileHits] = {}
    copies: dict[str, tuple[str, ...]] = {}
    for file in files:
        name = file.path.rpartition("/")[2]
        key = (name, file.count, *((line.number, line.text) for line in file.lines))
        if (same := kept.setdefault(key, file)) is not file:
            copies[same.path] = (*copies.get(same.path, ()), file.path)
    return list(kept.values()), copies
