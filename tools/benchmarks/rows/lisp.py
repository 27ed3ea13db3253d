"""Row 15: Emacs, from the first byte to the whole text in the buffer, and how long nothing else can run meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from benchmarks.bench import FEWER, REST, Bench, in_turn
from benchmarks.emacs import PACKAGE, Emacs, compiled, find, text
from benchmarks.figures import MS, Pair, Row, against, noted, within
from benchmarks.place import FLOORS
from benchmarks.replies import Reply, says, streams, streams_slowly

_GAP = 0.02
"""Seconds; a longer gap counts."""

_PER_SECOND = 1_000
_MORE = 2
"""So many gaps more than the floor has are allowed."""

_SEND = '(ignore (smith-send "hello"))'
_FLOOR_SEND = "(ignore (bench-send))"


def missing() -> str:
    """Why this cannot be measured, or ""."""
    if not find():
        return "Emacs is not installed"
    return "" if (PACKAGE / "smith.el").exists() else "the package is not there"


async def emacs(bench: Bench) -> list[Row]:
    """The program in Emacs beside a bare client, warm."""
    whole, gaps = Pair([], []), Pair([], [], unit="gaps")
    product, floor = await _product(bench), await _floor(bench)

    async def once(editor: Emacs, send: str, wholes: list[float]) -> None:
        last = f"That was all of {len(wholes)}."
        complete = await _turn(bench, editor, send, streams(bench.scale.shown, last), last)
        wholes.append((complete - bench.model.seen[0].first_sent) * MS)

    async def slowly(editor: Emacs, send: str, counts: list[float]) -> None:
        last = f"Slow {len(counts)}."
        reply = streams_slowly(bench.scale.shown, _PER_SECOND, last)
        await editor.lisp(f"(bench-count {_GAP})")
        await _turn(bench, editor, send, reply, last)
        counts.append(float(await editor.lisp("(bench-count nil)")))

    try:
        await _in_turn(bench.few * 2, product, floor, once, whole)
        await _in_turn(max(1, bench.few // FEWER), product, floor, slowly, gaps)
    finally:
        await product.close()
        await floor.close()
    most = sorted(gaps.floor)[len(gaps.floor) // 2]
    return [
        against("15", f"Emacs: {bench.scale.shown} tokens, first byte -> all in the buffer", whole, 2),
        noted(
            within("15", f"Emacs: gaps over 20 ms at {_PER_SECOND} tokens/s", gaps.product, most + _MORE, "gaps"),
            f"floor: {most:g}",
        ),
    ]


async def _in_turn(
    count: int, product: Emacs, floor: Emacs, measure: Callable[[Emacs, str, list[float]], Awaitable[None]], pair: Pair
) -> None:
    await in_turn(
        count, partial(measure, product, _SEND, pair.product), partial(measure, floor, _FLOOR_SEND, pair.floor)
    )


async def _product(bench: Bench) -> Emacs:
    package = await compiled(bench.place)
    editor = await Emacs.start(bench.place, "product", ["-L", str(package), "-l", "smith"])
    command = " ".join(text(word) for word in bench.place.smith("serve"))
    await editor.lisp(f"(ignore (setq smith-command (list {command})) (smith))")
    look = "(lambda (&rest _) (bench-look (current-buffer)))"
    await editor.lisp(f"(ignore (advice-add 'smith-chat--draw :after {look}))")
    return await _warmed(bench, editor, _SEND)


async def _floor(bench: Bench) -> Emacs:
    body = bench.place.file("lisp-body.json")
    body.write_bytes(bench.model.seen[0].body)
    editor = await Emacs.start(bench.place, "floor", ["-l", str(FLOORS / "editor.el")])
    command = bench.place.floor("relay", bench.model.url, str(body), "rpc")
    words = " ".join(text(word) for word in command)
    compiled = "(byte-compile 'bench-look) (byte-compile 'bench-insert)"
    await editor.lisp(f"(ignore {compiled} (bench-connect {words}))")
    return await _warmed(bench, editor, _FLOOR_SEND)


async def _warmed(bench: Bench, editor: Emacs, send: str) -> Emacs:
    for number in range(2):
        words = f"Warm {number}."
        await _turn(bench, editor, send, says(words), words)
    return editor


async def _turn(bench: Bench, editor: Emacs, send: str, reply: Reply, last: str) -> int:
    """When the last words of the reply were in the buffer."""
    await editor.expect(last)
    await asyncio.sleep(REST)
    bench.model.play([reply])
    await editor.lisp(send)
    async with asyncio.timeout(60):
        complete = await editor.seen
    await asyncio.sleep(0.3)
    return complete
