"""The result for people, as one table, and for programs, as JSON."""

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.bench import Scale
from benchmarks.figures import Row

_WIDTHS = (3, 60, 12, 12, 8, 10, 6)
_HEADS = ("row", "measure", "product", "floor", "ratio", "bar", "holds")


def header() -> str:
    """The first two lines of the table."""
    line = "  ".join(f"{head:<{width}}" for head, width in zip(_HEADS, _WIDTHS, strict=True))
    return f"{line}  spread % (note)\n{'-' * (len(line) + 17)}"


def line(row: Row) -> str:
    """One row of the table."""
    cells = (
        row.row,
        row.measure,
        _figure(row.product, row.unit),
        "" if row.floor is None else _figure(row.floor, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        row.bar,
        {True: "yes", False: "NO", None: ""}[row.holds],
    )
    text = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    spreads = "/".join(f"{value:.0f}" for value in row.spread)
    return f"{text}  {spreads}{f' ({row.note})' if row.note else ''}"


def write(path: Path, scale: Scale, rows: Sequence[Row], left_out: Mapping[str, str]) -> None:
    """Everything as JSON."""
    machine = {"system": platform.platform(), "python": platform.python_version(), "processors": os.cpu_count()}
    result = {"machine": machine, "scale": scale, "rows": rows, "not_measured": left_out}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def _figure(value: float, unit: str) -> str:
    shown = f"{value:,.0f}" if value >= 1000 or unit == "B" else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{shown} {unit}"
