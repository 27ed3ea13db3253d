"""Finding files by name in a listing: a glob, else a part of the path, else its letters in order.

A listing is in the order of interest already, so the first finds of each kind are the best ones.
What can be found by plain search is; the rest is one run of ripgrep over the names.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from smith_server.codebase.glob import is_glob, path_pattern
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.codebase.tree import Listing
from smith_server.core.errors import ToolRefusal

_MOST_COUNTED = 5_000
_ANY_FOLDER = re.compile(r"(?:\*\*/)?\*([^*?\[\]{}\\/]+)")

How = Literal["glob", "part", "letters"]
_ROOT = Path("/")


class Names(Struct, frozen=True):
    """The best paths, and how many there are in all; `counted` is false when there are even more.

    `how` is `glob`, `part` or `letters`.
    """

    paths: tuple[str, ...]
    total: int
    how: How
    counted: bool = True


async def find(ripgrep: Ripgrep, listing: Listing, query: str, most: int) -> Names:
    """The paths that fit `query`, `most` at most; an empty query fits all. Raises what `Ripgrep.run` raises."""
    query = query.strip().removeprefix("./")
    if not query:
        return Names(listing.paths[:most], len(listing.paths), "part")
    if is_glob(query):
        found = await _by_glob(ripgrep, listing, query, most)
        if found.total:
            return found
    words = query.lower().split()
    found = _by_part(listing, words, most)
    if found.total or is_glob(query):
        return found
    letters = [re.escape(letter) for letter in "".join(words)]
    pattern = "(?i)" + r"(?-u:[^\x00])*?".join(letters)
    return await _matching(ripgrep, listing, pattern, most, "letters")


async def _by_glob(ripgrep: Ripgrep, listing: Listing, glob: str, most: int) -> Names:
    if found := _ANY_FOLDER.fullmatch(glob):
        ending = found[1] + "\0"
        spans = _spans(listing.joined, ending)
        paths = tuple(listing.joined[start:end] for (start, end), _ in zip(spans, range(most), strict=False))
        return Names(paths, listing.joined.count(ending), "glob")
    return await _matching(ripgrep, listing, rf"(?s)\A(?:{path_pattern(glob)})\z", most, "glob")


def _by_part(listing: Listing, words: list[str], most: int) -> Names:
    longest = max(words, key=len)
    closest = [*_exact(listing, longest, most)] if len(words) == 1 else []
    found: list[tuple[int, str]] = []
    counted = True
    for start, end in _spans(listing.lower, longest):
        path = listing.lower[start:end]
        if len(words) > 1 and not all(word in path for word in words):
            continue
        if len(found) == _MOST_COUNTED:
            counted = False
            break
        found.append((_closeness(path, longest), listing.joined[start:end]))
    found.sort(key=lambda each: each[0])
    paths = dict.fromkeys([*closest, *(path for _, path in found)])
    return Names(tuple(paths)[:most], len(found), "part", counted)


def _exact(listing: Listing, name: str, most: int) -> Iterator[str]:
    """Paths whose last part is `name`, with any extension: they come first even where very many hold the word."""
    for before, behind in (("\0", "\0"), ("/", "\0"), ("\0", "."), ("/", ".")):
        spans = _spans(listing.lower, before + name + behind)
        for (start, end), _ in zip(spans, range(most), strict=False):
            path = listing.joined[start:end]
            if path.rpartition("/")[2].lower().startswith(name):
                yield path


def _closeness(path: str, word: str) -> int:
    name = path[path.rfind("/") + 1 :]
    if name.startswith(word):
        return 0 if name == word or name[len(word)] == "." else 1
    return 2 if word in name else 3


def _spans(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Where the paths around `part` begin and end, each once, in order."""
    at = text.find(part)
    while at >= 0:
        start = text.rfind("\0", 0, at + 1) + 1
        end = text.find("\0", max(at + len(part) - 1, start))
        if end > start:
            yield start, end
        at = text.find(part, max(end, at + 1))


async def _matching(ripgrep: Ripgrep, listing: Listing, pattern: str, most: int, how: How) -> Names:
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    words = ("--null-data", "--text", "--no-line-number", "--no-filename", "--regexp", pattern, "--", "-")
    looked = await ripgrep.run(words, _ROOT, take, os.fsencode(listing.joined[1:]) or b"\0")
    if looked.ended == "limit":
        raise ToolRefusal("search_timeout", "Looking through the names took too long. Ask for a plain part of a name.")
    names = b"".join(pieces).split(b"\0")[:-1]
    return Names(tuple(os.fsdecode(name) for name in names[:most]), len(names), how)
