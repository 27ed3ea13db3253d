"""Rows 10 and 16: tokens through a headless run, events into the store."""

import json
import statistics

from benchmarks.bench import Bench, in_turn
from benchmarks.figures import MS, Pair, Row, against, at_least, noted
from benchmarks.replies import says, streams


async def headless(bench: Bench) -> list[Row]:
    """Many tokens at once, first byte to exit less what an exit takes anyway."""
    pair, tails = Pair([], []), list[float]()
    command, tokens = bench.place.smith("run", "hello"), bench.scale.tokens

    async def short() -> None:
        bench.model.play([says("Hello.")])
        done = await bench.place.run(command)
        tails.append((done.ended - bench.model.seen[0].last_sent) * MS)

    async def long() -> None:
        bench.model.play([streams(tokens)])
        done = await bench.place.run(command)
        pair.product.append((done.ended - bench.model.seen[0].first_sent) * MS)

    async def floor() -> None:
        bench.model.play([streams(tokens)])
        done = await bench.place.run(bench.place.floor("once", bench.model.url))
        pair.floor.append((int(done.output) - bench.model.seen[0].first_sent) * MS)

    await in_turn(bench.few * 2, short, long, floor)
    tail = statistics.median(tails)
    kept = Pair([value - tail for value in pair.product], pair.floor)
    row = against("10", f"run: {tokens} tokens, first byte -> exit less exit tail", kept, 2.5)
    return [noted(row, f"exit tail: {tail:.1f}")]


async def events(bench: Bench) -> list[Row]:
    """Events through bus, journal and store, beside bare commits of as many rows."""
    place, count = bench.place, str(bench.scale.events)
    pair = Pair([], [], "1/s")

    async def once(name: str, kept: list[float]) -> None:
        done = await place.run(place.floor(name, str(place.file(f"{name}.db")), count))
        kept.append(json.loads(done.output)["per_second"])

    await in_turn(bench.few, lambda: once("journal", pair.product), lambda: once("commits", pair.floor))
    return [at_least("16", "stored events per second", pair, 0.5)]
