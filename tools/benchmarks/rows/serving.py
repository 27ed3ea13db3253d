"""Rows 4, 5, 6 and 11: the language server, from `exec` to its last frame."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.bench import REST, Bench, in_turn
from benchmarks.figures import MS, Pair, Row, against, within
from benchmarks.frontend import Frontend
from benchmarks.replies import says, says_in_two, streams, streams_slowly

DELTA = b'"llm_output_delta"'
END = b'"turn_completed"'
_SLOW_TOKENS_PER_SECOND = 1000


async def initialize(bench: Bench) -> list[Row]:
    """Start to the answer of `initialize`."""
    pair = Pair([], [])

    async def once(command: Sequence[str], kept: list[float]) -> None:
        frontend = await Frontend.start(bench.place, command)
        kept.append((await frontend.initialize() - frontend.began) * MS)
        await frontend.close()

    await once(bench.place.smith("serve"), [])
    await in_turn(
        bench.few * 2,
        lambda: once(bench.place.smith("serve"), pair.product),
        lambda: once(bench.place.floor("server"), pair.floor),
    )
    return [against("4", "serve: exec -> initialize answered", pair, 1.15)]


async def turns(bench: Bench) -> list[Row]:
    """What lies between a prompt, its request, the first delta and the stored end, all warm."""
    submit, first, last = Pair([], []), Pair([], []), Pair([], [])

    async def once(frontend: Frontend, *kept: list[float]) -> None:
        bench.model.play([says_in_two("Hello", " there.")])
        sent = frontend.turn("hello")
        asked = await bench.model.request()
        shown = await frontend.frame(DELTA)
        await asyncio.sleep(REST)
        asked.go()
        ended = await frontend.frame(END)
        taken = (asked.arrived - sent, shown - asked.first_sent, ended - asked.last_sent)
        for values, value in zip(kept, taken, strict=True):
            values.append(value * MS)

    async with warm(bench) as (product, floor):
        await in_turn(
            bench.scale.turns,
            lambda: once(product, submit.product, first.product, last.product),
            lambda: once(floor, submit.floor, first.floor, last.floor),
        )
    return [
        against("5", "serve: submit -> request on the wire, p50", submit, 3),
        against("5", "serve: submit -> request on the wire, p95", submit, 4, 95),
        against("6", "serve: first byte -> first delta", first, 2),
        against("6", "serve: last byte -> turn end, stored", last, 5),
    ]


async def streaming(bench: Bench) -> list[Row]:
    """Many tokens to the front-end, as fast as they go; and how many messages a slower stream makes."""
    pair, rates = Pair([], []), list[float]()
    shown = bench.scale.shown
    async with warm(bench) as (product, _):
        for _ in range(bench.scale.runs):
            bench.model.play([streams(shown)])
            product.turn("hello")
            asked = await bench.model.request()
            pair.product.append((await product.frame(END) - asked.first_sent) * MS)
            await asyncio.sleep(REST)
            bench.model.play([streams(shown)])
            done = await bench.place.run(bench.place.floor("once", bench.model.url))
            pair.floor.append((int(done.output) - bench.model.seen[0].first_sent) * MS)
        for _ in range(bench.few):
            rates.append(await _messages_per_second(bench, product))
    row = against("11", f"serve: {shown} tokens, first byte -> all at the front-end", pair, 5)
    return [row, within("11", "serve: messages for a second of stream", rates, 65, "1/s")]


async def _messages_per_second(bench: Bench, product: Frontend) -> float:
    tokens = bench.scale.shown // 5
    bench.model.play([streams_slowly(tokens, _SLOW_TOKENS_PER_SECOND)])
    product.turn("hello")
    await product.frame(END)
    asked = bench.model.seen[0]
    return sum(DELTA in body for _, body in product.frames) / ((asked.last_sent - asked.first_sent) * MS / 1000)


@asynccontextmanager
async def warm(bench: Bench) -> AsyncIterator[tuple[Frontend, Frontend]]:
    """The program's server and the floor of sessions, both with some turns behind them."""
    place, model = bench.place, bench.model
    product = await Frontend.start(place, place.smith("serve"))
    await product.initialize()
    await _turn(bench, product)
    body = place.file("body.json")
    body.write_bytes(model.seen[0].body)
    floor = await Frontend.start(place, place.floor("session", model.url, str(body), str(place.file("floor.db"))))
    for _ in range(3):
        await _turn(bench, product)
        await _turn(bench, floor)
    try:
        yield product, floor
    finally:
        await product.close()
        await floor.close()


async def _turn(bench: Bench, frontend: Frontend) -> None:
    bench.model.play([says("Hello.")])
    frontend.turn("hello")
    await frontend.frame(END)
    await asyncio.sleep(REST)
