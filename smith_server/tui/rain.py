"""Falling glyphs as pixels. Pure: the same seed gives the same frames, and nothing here knows a terminal.

A picture is made of tiles of 6 by 8 pixels, a glyph in each, so a frame is put together out of rows of
tiles that were made beforehand.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from smith_server.tui.glyphs import GLYPHS, HEIGHT, WIDTH

TILE = (WIDTH + 1, HEIGHT + 1)
MOST_COLUMNS, FEWEST_COLUMNS, MOST_ROWS = 24, 4, 12
LEAST_TERMINAL = (20, 6)

_LEVELS = (205, 170, 140, 110, 80, 58, 38)
"""How opaque a glyph is, from the head of a drop to its tail; never so much that text on it cannot be read."""

_BRIGHT = 0.45
"""How far the head of a drop is from its colour to white."""

_CHANGES = 0.06
_GAP = 14

Colour = tuple[int, int, int]


class Grid(NamedTuple):
    """Columns and rows of glyphs."""

    columns: int
    rows: int

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.columns * TILE[0], self.rows * TILE[1]


def grid_for(columns: int, rows: int) -> Grid | None:
    """The grid for a terminal of so many cells; None for one that is too small.

    It takes two fifths of the width, each glyph being two cells wide, and never more than a fixed number
    of pixels.
    """
    if columns < LEAST_TERMINAL[0] or rows < LEAST_TERMINAL[1]:
        return None
    wide = min(MOST_COLUMNS, max(FEWEST_COLUMNS, int(0.4 * columns / 2)))
    return Grid(wide, min(MOST_ROWS, rows - 4))


def frames(grid: Grid, colour: Colour, seed: int) -> Iterator[bytes]:
    """Pictures without end, one for each tick: red, green, blue and alpha of each pixel, row by row."""
    chance = random.Random(seed)
    tiles = _tiles(colour)
    dark = bytes(TILE[0] * 4)
    drops = [_Drop(grid.rows, chance) for _ in range(grid.columns)]
    while True:
        yield _picture(grid, [drop.levels() for drop in drops], [drop.glyphs for drop in drops], tiles, dark)
        for drop in drops:
            drop.fall()


class _Drop:
    """What falls in one column: the row of its head, its speed in rows a tick, the glyphs it uncovers."""

    def __init__(self, rows: int, chance: random.Random) -> None:
        self._chance = chance
        self._rows = rows
        self.glyphs = [chance.randrange(len(GLYPHS)) for _ in range(rows)]
        self._begin()
        self._head = float(chance.randrange(-_GAP // 2, rows))

    def _begin(self) -> None:
        self._head = -float(self._chance.randrange(1, _GAP))
        self._speed = self._chance.choice((0.35, 0.5, 0.7, 1.0))

    def fall(self) -> None:
        self._head += self._speed
        if self._head - len(_LEVELS) >= self._rows:
            self._begin()
        for row in range(self._rows):
            if self._chance.random() < _CHANGES:
                self.glyphs[row] = self._chance.randrange(len(GLYPHS))

    def levels(self) -> list[int]:
        """By row: how far behind the head it lies, -1 where nothing is lit."""
        head = int(self._head)
        return [head - row if 0 <= head - row < len(_LEVELS) else -1 for row in range(self._rows)]


def _picture(
    grid: Grid, levels: list[list[int]], glyphs: list[list[int]], tiles: list[list[list[bytes]]], dark: bytes
) -> bytes:
    parts: list[bytes] = []
    columns = range(grid.columns)
    empty = [dark] * TILE[1]
    for row in range(grid.rows):
        lit = [
            tiles[level][glyphs[column][row]] if (level := levels[column][row]) >= 0 else empty for column in columns
        ]
        parts += [tile[line] for line in range(TILE[1]) for tile in lit]
    return b"".join(parts)


def _tiles(colour: Colour) -> list[list[list[bytes]]]:
    """By level and glyph: the rows of the tile."""
    head = tuple(round(part + (255 - part) * _BRIGHT) for part in colour)
    shades = [bytes((*(head if level == 0 else colour), alpha)) for level, alpha in enumerate(_LEVELS)]
    return [[_tile(glyph, shade) for glyph in GLYPHS] for shade in shades]


def _tile(glyph: tuple[str, ...], shade: bytes) -> list[bytes]:
    dark = bytes(4)
    rows = [b"".join(shade if pixel == "#" else dark for pixel in row) + dark for row in glyph]
    return [*rows, bytes(TILE[0] * 4)]
