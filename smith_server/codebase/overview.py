"""A folder at a glance: its languages and its folders, as many as there is room for. Pure."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from smith_server.codebase.languages import extension_of, language_of
from smith_server.codebase.rank import Kind, kind_of

_MOST_LANGUAGES = 6
_TITLES = {"javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TSX", "cpp": "C++", "csharp": "C#"}


class Folder(Struct):
    """A folder with what is right in it; `total` counts all files below."""

    path: str
    kind: Kind
    files: list[str]
    folders: dict[str, "Folder"]
    total: int = 0

    @property
    def depth(self) -> int:
        return self.path.count("/") + 1 if self.path else 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def folders_of(paths: Iterable[str]) -> Folder:
    """The tree of the folders that hold these files."""
    top = Folder("", Kind.SOURCE, [], {})
    known = {"": top}
    for path in paths:
        head, _, name = path.rpartition("/")
        folder = known.get(head) or _make(head, known)
        folder.files.append(name)
    for folder in sorted(known.values(), key=lambda each: -each.depth):
        folder.total += len(folder.files)
        if folder is not top:
            known[folder.path.rpartition("/")[0]].total += folder.total
    return top


def _make(path: str, known: dict[str, Folder]) -> Folder:
    head, _, name = path.rpartition("/")
    parent = known.get(head) or _make(head, known)
    made = known[path] = parent.folders[name] = Folder(path, kind_of(f"{path}/x.py"), [], {})
    return made


def chosen(top: Folder, depth: int, most: int) -> set[str]:
    """The folders to show besides `top`: level by level, source first, `most` at most, siblings all or none."""
    shown: set[str] = set()
    waiting = [(0, Kind.SOURCE, 0, "", top)]
    while waiting:
        *_, folder = heapq.heappop(waiting)
        inner = list(folder.folders.values())
        if folder.depth >= depth or len(shown) + len(inner) > most:
            if shown or folder is not top:
                continue
            inner = sorted(inner, key=_weight)[:most]
        for each in inner:
            shown.add(each.path)
            heapq.heappush(waiting, (each.depth, each.kind, -each.total, each.path, each))
    return shown


def walked(top: Folder, shown: set[str]) -> Iterator[tuple[Folder, int]]:
    """The shown folders in the order of a tree, each with the number of folders in it that are not shown."""
    for folder in sorted(top.folders.values(), key=_weight):
        if folder.path in shown:
            yield folder, sum(inner.path not in shown for inner in folder.folders.values())
            yield from walked(folder, shown)


def languages(paths: Sequence[str]) -> str:
    """`Python 61 %, Lua 12 %`: the shares of the languages among the files that have one."""
    counts = Counter(filter(None, map(language_of, paths)))
    total = sum(counts.values())
    best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_MOST_LANGUAGES]
    return ", ".join(f"{_TITLES.get(name, name.capitalize())} {round(100 * count / total)} %" for name, count in best)


def kinds_of_files(names: Iterable[str], most: int = 3) -> str:
    """`120 py, 3 md`: how many files of the commonest endings."""
    counts = Counter(extension_of(name) or "other" for name in names)
    best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:most]
    return ", ".join(f"{count} {name}" for name, count in best)


def _weight(folder: Folder) -> tuple[Kind, str]:
    return folder.kind, folder.path
