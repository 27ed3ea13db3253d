"""From samples to a row of the table: medians, spread, ratio, and whether a bar holds."""

import statistics
from collections.abc import Sequence

import msgspec
from msgspec import Struct

MS = 1e-6
"""Nanoseconds to milliseconds."""


class Row(Struct, frozen=True):
    """One figure. `floor` and `ratio` are None where the bar is a limit of its own.

    `spread` is half the distance of the quartiles in percent of the median, of product and floor.
    `holds` is None where there is no bar. `runs` counts the samples of the product.
    """

    row: str
    measure: str
    unit: str
    product: float
    floor: float | None
    ratio: float | None
    bar: str
    holds: bool | None
    spread: tuple[float, ...]
    runs: int
    note: str = ""


class Pair(Struct, frozen=True):
    """Samples of the program and of its floor, taken in turn."""

    product: list[float]
    floor: list[float]
    unit: str = "ms"


def percentile(values: Sequence[float], share: int) -> float:
    """The value that `share` percent of the others do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share / 100 * (len(ordered) - 1)))]


def spread(values: Sequence[float]) -> float:
    """Half the distance of the quartiles, in percent of the median."""
    middle = statistics.median(values)
    return round(50 * (percentile(values, 75) - percentile(values, 25)) / middle, 1) if middle else 0.0


def against(row: str, measure: str, pair: Pair, bar: float | None, share: int = 50) -> Row:
    """The program's median (or another percentile) over the floor's; `bar` is the most it may be."""
    product, floor = (_at(values, share) for values in (pair.product, pair.floor))
    ratio = product / floor if floor else 0.0
    return Row(
        row,
        measure,
        pair.unit,
        product,
        floor,
        ratio,
        f"<= {bar:g} x" if bar else "",
        ratio <= bar if bar else None,
        (spread(pair.product), spread(pair.floor)),
        len(pair.product),
    )


def at_least(row: str, measure: str, pair: Pair, bar: float) -> Row:
    """As `against`, for a figure that should be large."""
    product, floor = statistics.median(pair.product), statistics.median(pair.floor)
    ratio = product / floor
    spreads = (spread(pair.product), spread(pair.floor))
    return Row(
        row, measure, pair.unit, product, floor, ratio, f">= {bar:g} x", ratio >= bar, spreads, len(pair.product)
    )


def reaching(row: str, measure: str, value: float, limit: float | None, unit: str = "%") -> Row:
    """A figure that should be at least `limit`, or with none."""
    bar = f">= {limit:g}" if limit is not None else ""
    return Row(row, measure, unit, value, None, None, bar, value >= limit if limit is not None else None, (), 1)


def within(row: str, measure: str, values: Sequence[float], limit: float | None, unit: str = "ms") -> Row:
    """The median against a fixed limit, or with none."""
    value = statistics.median(values)
    bar = f"<= {limit:g}" if limit is not None else ""
    holds = value <= limit if limit is not None else None
    return Row(row, measure, unit, value, None, None, bar, holds, (spread(values),), len(values))


def noted(row: Row, note: str) -> Row:
    """The same row with a remark."""
    return msgspec.structs.replace(row, note=note)


def _at(values: Sequence[float], share: int) -> float:
    return statistics.median(values) if share == 50 else percentile(values, share)
