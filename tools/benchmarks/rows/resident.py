"""Row 12: memory, of a run in the middle of its steps and of a server that waits."""

import asyncio
from collections.abc import Sequence

from benchmarks.bench import Bench, in_turn
from benchmarks.figures import Pair, Row, against
from benchmarks.frontend import Frontend
from benchmarks.memory import proportional
from benchmarks.replies import Reply, calls, says, says_in_two
from benchmarks.rows.serving import END

_STEPS = 20
_TURNS = 20
_QUIET = 0.5


async def memory(bench: Bench) -> list[Row]:
    """Proportional memory of the process trees, of product and floor in turn."""
    loop, idle = Pair([], [], "MB"), Pair([], [], "MB")
    place, model = bench.place, bench.model
    held = says_in_two("do", "ne")
    run = [*(calls(number) for number in range(_STEPS)), held]
    await in_turn(
        bench.few,
        lambda: _held(bench, place.smith("run", "--yes", "go"), run, loop.product),
        lambda: _held(bench, place.floor("once", model.url), [held], loop.floor),
        lambda: _server(bench, idle.product),
        lambda: _idle(bench, idle.floor),
    )
    return [
        against("12", "memory: run in a loop of tools", loop, 2),
        against("12", f"memory: server idle after {_TURNS} turns", idle, 1.8),
    ]


async def _held(bench: Bench, command: Sequence[str], replies: Sequence[Reply], kept: list[float]) -> None:
    """The memory while the last answer is held back."""
    bench.model.play(replies)
    run = asyncio.ensure_future(bench.place.run(command))
    asked = await bench.model.request(len(replies) - 1)
    await asyncio.sleep(_QUIET)
    kept.append(proportional(bench.place.newest))
    asked.go()
    await run


async def _server(bench: Bench, kept: list[float]) -> None:
    product = await Frontend.start(bench.place, bench.place.smith("serve"))
    await product.initialize()
    for _ in range(_TURNS):
        bench.model.play([says("Hello.")])
        product.turn("hello")
        await product.frame(END)
    await asyncio.sleep(_QUIET)
    kept.append(proportional(product.pid))
    await product.close()


async def _idle(bench: Bench, kept: list[float]) -> None:
    bench.model.play([says("Hello.")])
    floor = await Frontend.start(bench.place, bench.place.floor("idle", bench.model.url))
    await floor.frame(b"ready")
    await asyncio.sleep(_QUIET)
    kept.append(proportional(floor.pid))
    await floor.close()
