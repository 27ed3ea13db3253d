"""Rows 7, 8 and 9: steps of one prompt, each a call of `bash true` and the next request."""

import json
import statistics
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.bench import Bench, in_turn
from benchmarks.figures import MS, Pair, Row, against, noted, within
from benchmarks.model import Exchange
from benchmarks.replies import steps

_FIRST_BYTES = 3000
_BYTES_PER_TOOL = 600
_BYTES_PER_STEP = 260
_FEW = 100
"""Messages of the conversation that is gone on with."""


async def steady(bench: Bench) -> list[Row]:
    """The cost of a step, early and late in a prompt, and what it adds to the request."""
    scale = bench.scale
    early, late, floor, sizes = (list[float]() for _ in range(4))
    seen: list[Exchange] = []

    async def product() -> None:
        seen[:] = await _played(bench, bench.place.smith("run", "--yes", "go"), scale.steps)
        taken = _steps(seen)
        early.extend(taken[scale.warm : scale.warm + scale.window])
        late.extend(taken[-scale.window :])
        sizes.extend(_growths(seen))

    async def bare() -> None:
        body = bench.place.file("body.json")
        body.write_bytes(seen[0].body)
        command = bench.place.floor("steps", bench.model.url, str(body), str(bench.place.file("floor.db")))
        taken = _steps(await _played(bench, command, scale.warm + scale.window))
        floor.extend(taken[scale.warm :])

    await in_turn(bench.few, product, bare)
    first, tools = len(seen[0].body), len(json.loads(seen[0].body)["tools"])
    limit = _FIRST_BYTES + _BYTES_PER_TOOL * tools
    return [
        against("7", "tool step: last byte -> next request, p50", Pair(early, floor), 1.5),
        against("7", "tool step: last byte -> next request, p95", Pair(early, floor), 2, 95),
        against("8", f"tool step {scale.steps} beside {scale.warm + scale.window // 2}", Pair(late, early), 1.2),
        noted(within("9", "first request", [first], limit, "B"), f"{tools} tools"),
        within("9", "request: per step beyond the tool's output", sizes, _BYTES_PER_STEP, "B"),
    ]


async def stored(bench: Bench) -> list[Row]:
    """The cost of a step in stores of different size, and in a conversation that is as long as the larger one."""
    place, many = bench.place, bench.scale.stored
    kept: dict[str, list[float]] = {"few": [], "many": [], "long": []}
    await place.run(place.floor("seed", str(place.home("few")), str(_FEW), "1"), "few")
    await place.run(place.floor("seed", str(place.home("many")), str(_FEW), str(many // _FEW)), "many")
    await place.run(place.floor("seed", str(place.home("long")), str(many), "1"), "long")

    async def once(home: str) -> None:
        count = bench.scale.warm + bench.scale.window
        seen = await _played(bench, place.smith("run", "--yes", "--continue", "go"), count, home)
        kept[home].extend(_steps(seen)[bench.scale.warm :])

    await in_turn(bench.few, lambda: once("few"), lambda: once("many"), lambda: once("long"))
    row = against("8", f"tool step: {many} stored messages beside {_FEW}", Pair(kept["many"], kept["few"]), 1.2)
    alone = against(
        "8", f"tool step: {many} messages in the request beside {_FEW}", Pair(kept["long"], kept["few"]), None
    )
    return [
        noted(row, f"both requests hold {_FEW} and the steps' own"),
        noted(alone, "no bar: everything is sent as long as there is no window"),
    ]


async def _played(bench: Bench, command: Sequence[str], count: int, home: str = "home") -> list[Exchange]:
    bench.model.play(steps(count))
    await bench.place.run(command, home)
    return bench.model.seen


def _steps(seen: Sequence[Exchange]) -> list[float]:
    return [(then.arrived - now.last_sent) * MS for now, then in pairwise(seen)]


def _growths(seen: Sequence[Exchange]) -> list[float]:
    """Bytes that each request has more than the one before, without what the tool wrote."""
    outputs = [len(json.dumps(json.loads(each.body)["messages"][-1]["content"])) - 2 for each in seen[1:4]]
    usual = statistics.median(outputs)
    return [len(then.body) - len(now.body) - usual for now, then in pairwise(seen)]
