import asyncio
import time

from smith_server.proc.live import INTERVAL, MOST, Live
from tests.proc.scene import until


class Screen:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.times: list[float] = []

    def show(self, text: str) -> None:
        self.pieces.append(text)
        self.times.append(time.monotonic())


async def test_pieces_of_one_interval_are_shown_together_and_clean() -> None:
    screen = Screen()
    live = Live(screen.show)

    for piece in (b"\x1b[3", b"1mred\x1b[0", b"m\nnext ", b"line"):
        live.feed(piece)

    assert await until(lambda: screen.pieces)
    assert screen.pieces == ["red\nnext line"]


async def test_a_flood_is_shown_in_small_pieces_now_and_then() -> None:
    screen = Screen()
    live = Live(screen.show)
    end = time.monotonic() + 0.4
    number = 0
    while time.monotonic() < end:
        live.feed(b"".join(b"%d %s\0\n" % (line, "é€😀".encode()) for line in range(number, number + 3000)))
        number += 3000
        await asyncio.sleep(0)
    live.stop()

    assert len(screen.pieces) > 2
    assert max(len(piece.encode()) for piece in screen.pieces) <= MOST
    gaps = [after - before for before, after in zip(screen.times, screen.times[1:], strict=False)]
    assert min(gaps) > INTERVAL * 0.9
    assert set("".join(screen.pieces)) <= set("0123456789 é€😀\ufffd\n[…]")


async def test_a_command_that_is_over_at_once_shows_nothing() -> None:
    screen = Screen()
    live = Live(screen.show)

    live.feed(b"hi\n")
    live.stop()
    await asyncio.sleep(2 * INTERVAL)

    assert screen.pieces == []


async def test_after_a_gap_text_begins_at_a_line() -> None:
    screen = Screen()
    live = Live(screen.show)

    live.feed(b"early\n" + b"x" * MOST + b"\x1b[31m\nlate\n")

    assert await until(lambda: screen.pieces)
    assert screen.pieces == ["\n[…]\nlate\n"]


async def test_a_progress_bar_is_shown_when_it_settles() -> None:
    screen = Screen()
    live = Live(screen.show)
    for step in range(4):
        live.feed(b"\r%d%%" % step)
        await asyncio.sleep(1.2 * INTERVAL)

    live.feed(b"\r100%\n")

    assert await until(lambda: "100%" in "".join(screen.pieces))
    assert "".join(screen.pieces) == "0%\n100%\n"
