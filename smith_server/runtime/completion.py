"""What may stand at a place of a command line: the word under the cursor and what would replace it. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

MOST = 200
"""Candidates that are told at most."""


class Candidate(Struct, frozen=True):
    """A word, and what a person should know of it."""

    text: str
    detail: str = ""


class Completion(Struct, frozen=True):
    """What may replace the characters `start` to `end` of the line, counted in code points."""

    start: int
    end: int
    candidates: tuple[Candidate, ...] = ()


def words_before(line: str, cursor: int) -> Sequence[str]:
    """The words up to the cursor; the last one is being typed, "" after a blank."""
    before = line[:cursor]
    words = before.split()
    return words if words and not before[-1:].isspace() else [*words, ""]


def fitting(word: str, cursor: int, found: Iterable[Candidate]) -> Completion:
    """Of `found` what goes on from `word`, each once, shortest first, ready to be followed by the next word."""
    fits = {each.text: each for each in found if each.text.startswith(word)}
    ordered = sorted(fits.values(), key=lambda each: (len(each.text), each.text))
    candidates = tuple(Candidate(f"{each.text} ", each.detail) for each in ordered[:MOST])
    return Completion(cursor - len(word), cursor, candidates)
