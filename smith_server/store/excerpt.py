"""The piece of a text that shows why it was found."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

_WORD = re.compile(r"[^\W_]+")
_BLANK = re.compile(r"\s+")
_WIDTH = 160
_LEAD = 40
_MOST_MATCHES = 200


class Excerpt(Struct, frozen=True):
    """A piece of a text on one line; `marks` are (start, end) of the words that were looked for in it."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Wanted(Struct, frozen=True):
    """Words to look for, as `folded` spells them; a text fits `beginning`, if not "", when it begins so."""

    words: frozenset[str]
    beginning: str = ""


class _Match(Struct, frozen=True):
    start: int
    end: int
    word: str


def words_in(text: str) -> list[str]:
    """The words of a text as the index knows them: letters and digits, without case and accents."""
    return [_folded(found.group()) for found in _WORD.finditer(text)]


def excerpt(text: str, wanted: Wanted) -> Excerpt:
    """About 160 characters of `text`, where most of the wanted words stand together; else its beginning."""
    matches = list(_matches(text, wanted))
    best = _best(matches)
    start = _start(text, best[0].start) if best else 0
    end = min(len(text), start + _WIDTH)
    return _on_one_line(text, start, end, [match for match in best if match.end <= end])


def _matches(text: str, wanted: Wanted) -> Iterator[_Match]:
    count = 0
    for found in _WORD.finditer(text):
        word = _folded(found.group())
        if word in wanted.words or (wanted.beginning and word.startswith(wanted.beginning)):
            yield _Match(found.start(), found.end(), word)
            count += 1
        if count == _MOST_MATCHES:
            return


def _best(matches: Sequence[_Match]) -> Sequence[_Match]:
    """The neighbours that fit into the width and hold the most different words, the first such ones."""
    best: Sequence[_Match] = ()
    most = 0
    for at, first in enumerate(matches):
        near = [match for match in matches[at : at + 20] if match.end - first.start <= _WIDTH - _LEAD] or [first]
        count = len({match.word for match in near})
        if count > most:
            best, most = near, count
    return best


def _start(text: str, at: int) -> int:
    """A word's beginning some way in front of `at`."""
    if at <= _LEAD:
        return 0
    blank = _BLANK.search(text, at - _LEAD, at)
    return blank.end() if blank else at - _LEAD


def _on_one_line(text: str, start: int, end: int, matches: Iterable[_Match]) -> Excerpt:
    shown = "…" if start else ""
    marks: list[tuple[int, int]] = []
    for match in matches:
        shown = _joined(shown, text[start : match.start])
        marks.append((len(shown), len(shown) + match.end - match.start))
        shown += text[match.start : match.end]
        start = match.end
    shown = _joined(shown, text[start:end]).rstrip()
    return Excerpt(f"{shown}…" if end < len(text) else shown, tuple(marks))


def _joined(shown: str, more: str) -> str:
    line = _BLANK.sub(" ", more)
    return shown + (line if shown else line.lstrip())


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in parts if not unicodedata.combining(char))
