"""Row 19: bytes of a stream to deltas, and the memory that a very long one takes."""

import json
import statistics
from typing import Any

import msgspec

from benchmarks.bench import Bench, in_turn
from benchmarks.figures import Pair, Row, against, within

_LEAST = 100.0
"""MB in a second that are enough whatever the floor does."""

_MOST_GROWN = 16


async def streams(bench: Bench) -> list[Row]:
    """Each protocol beside a bare splitter with a JSON decoder, then one long stream."""
    rows = [await _speed(bench, name) for name in ("custom", "anthropic")]
    long = await _read(bench, "reader", "custom", str(bench.scale.long))
    size = f"{bench.scale.long / 1e9:g} GB"
    return [
        *rows,
        within("19", f"memory grown in a stream of {size} beyond its text", [long["grown"]], _MOST_GROWN, "MB"),
    ]


async def _speed(bench: Bench, name: str) -> Row:
    """Enough is 100 MB/s, or two thirds of what the floor does."""
    pair, size = Pair([], [], "MB/s"), str(bench.scale.read)
    event = (await _read(bench, "reader", name, "1"))["event"]

    async def product() -> None:
        pair.product.append((await _read(bench, "reader", name, size))["per_second"])

    async def floor() -> None:
        pair.floor.append((await _read(bench, "splitter", event, size))["per_second"])

    await in_turn(bench.few, product, floor)
    dialect = "Anthropic" if name == "anthropic" else "OpenAI"
    row = against("19", f"stream of the {dialect} protocol -> deltas", pair, None)
    holds = statistics.median(pair.product) >= _LEAST or (row.ratio or 0) >= 1 / 1.5
    return msgspec.structs.replace(row, bar=">= 100 or 0.67 x", holds=holds)


async def _read(bench: Bench, name: str, *words: str) -> dict[str, Any]:
    done = await bench.place.run(bench.place.floor(name, *words))
    told: dict[str, Any] = json.loads(done.output)
    return told
