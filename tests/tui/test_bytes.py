"""How much is written to the terminal."""

import random
import time

from tests.e2e.world import World
from tests.tui.terminal import Terminal

TOKENS = 20_000


def prose() -> str:
    chance = random.Random(7)
    words = ["alpha", "of", "the", "river", "**bold**", "`code`", "and", "morning", "is", "considered"]
    lines = []
    left = TOKENS
    while left > 0:
        count = min(left, chance.randrange(20, 60))
        lines.append(" ".join(chance.choice(words) for _ in range(count)))
        left -= count
    return "\n\n".join(lines) + "\n\nThis is the end.\n"


def test_a_fast_stream_writes_at_most_twice_its_own_bytes_and_then_nothing(world: World) -> None:
    text = prose()
    world.script([{"text": text, "size": 5}])
    with Terminal(world, columns=100, rows=40) as terminal:
        terminal.ready()
        before = len(terminal.raw)
        terminal.sends("go")
        terminal.sees("This is the end.")
        terminal.ready()
        written = len(terminal.raw) - before
        assert written <= 2 * len(text.encode())
        settled, limit = len(terminal.raw), time.monotonic() + 1.0
        while time.monotonic() < limit:
            assert len(terminal.raw) == settled
            time.sleep(0.05)


def test_a_question_that_waits_writes_nothing(world: World) -> None:
    world.script([{"call": "bash", "arguments": {"command": "touch ran"}}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("y yes")
        settled, limit = -1, time.monotonic() + 5
        while settled != (settled := len(terminal.raw)):
            assert time.monotonic() < limit
            time.sleep(0.3)
