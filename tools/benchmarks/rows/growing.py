"""Rows 17 and 18: what a store of many conversations answers, and what a long conversation costs."""

import itertools
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.figures import MS, Pair, Row, against, noted, within
from benchmarks.frontend import Frontend

_ANSWER_MS = 100
_MESSAGES = 50
_BUILDING_SECONDS = 900.0
_EARLY = 100
_LATE = 100
"""The late message comes so many times after the early one."""


async def answers(bench: Bench) -> list[Row]:
    """A warm server asked for the list, for one conversation after the other, for a word."""
    place, scale = bench.place, bench.scale
    grown = place.floor("grown", str(place.home("grown")), str(scale.grown), str(_MESSAGES))
    names = (await place.run(grown, "grown", _BUILDING_SECONDS)).output.decode().split()
    server = await Frontend.start(place, place.smith("serve"), "grown")
    await server.initialize()
    asked = itertools.cycle(names)
    listed, loaded, found = (list[float]() for _ in range(3))
    for _ in range(min(scale.turns, len(names))):
        listed.append(await _answer(server, b"conversation ", "smith.conversations", op="list"))
        name = next(asked)
        loaded.append(await _answer(server, name.encode(), "smith.conversations", op="load", conversation=name))
        found.append(await _answer(server, b"needle", "smith.slash", line="/search needle"))
    await server.close()
    about = f"{scale.grown} conversations of {_MESSAGES}"
    return [
        noted(within("17", "list of the stored conversations", listed, _ANSWER_MS), about),
        noted(within("17", "a stored conversation opened", loaded, _ANSWER_MS), about),
        noted(within("17", "search for a word in 1 % of the messages", found, _ANSWER_MS), about),
    ]


async def lengthening(bench: Bench) -> list[Row]:
    """A message added late beside one added early, to one conversation."""
    early, late = (list[float](), list[float]())
    last = _EARLY * (_LATE if bench.scale.grown > _MESSAGES else 2)
    for run in range(bench.few):
        path = bench.place.file(f"long{run}.db")
        command = bench.place.floor("lengthening", str(path), str(_EARLY), str(last))
        first, second = (await bench.place.run(command)).output.decode().splitlines()
        early += _milliseconds(first)
        late += _milliseconds(second)
    return [against("18", f"message {last} added beside message {_EARLY}", Pair(late, early), 1.5)]


async def _answer(server: Frontend, mark: bytes, command: str, **argument: object) -> float:
    """Milliseconds from the request to its answer, which has to hold `mark`."""
    server.frames.clear()
    began = server.send("workspace/executeCommand", {"command": command, "arguments": [argument]})
    arrived = await server.frame(b'"id":')
    answer = next(body for at, body in server.frames if at == arrived and b'"id":' in body)
    if mark not in answer or b'"result"' not in answer:
        raise RuntimeError(f"{command} was answered with {answer.decode()[:500]}")
    return (arrived - began) * MS


def _milliseconds(line: str) -> Sequence[float]:
    return [int(word) * MS for word in line.split()]
