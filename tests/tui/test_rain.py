"""The rain in a terminal that says it can show it, and its absence in all others."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smith_server.core import events
from smith_server.core.events import Envelope
from smith_server.tui import shm
from smith_server.tui.curtain import Curtain
from smith_server.tui.kitty import IMAGE, PLACEMENT
from tests.e2e.world import World
from tests.tui.far import Far
from tests.tui.terminal import SHARED, Terminal, objects

REPORT = {"call": "report", "arguments": {"status": "ok", "summary": "all is well", "findings": [], "evidence": []}}
DISPATCH = {
    "call": "dispatch",
    "arguments": {"role": "explorer", "task": "look around", "context": {"user_request_summary": "look"}},
}


def dispatching(world: World, wait: float) -> None:
    world.script([DISPATCH], [{"text": "Over.\n"}], others={"look around": [[{"wait": wait}, REPORT]]})


def frames(terminal: Terminal) -> list[dict[str, str]]:
    return [command for command in terminal.commands if command["a"] == "T"]


def rains(terminal: Terminal, count: int = 5) -> None:
    terminal.until("it rains", lambda: len(terminal.pictures) >= count)


def test_it_rains_while_a_child_waits_and_nothing_is_left_of_it(world: World) -> None:
    dispatching(world, 1.2)
    with Terminal(world, graphics=True) as terminal:
        terminal.ready()
        terminal.sends("go")
        rains(terminal)
        assert any("waiting for Link (explorer)" in line for line in terminal.screen)
        terminal.sees("Over.")
        terminal.ready()
        kinds = [command["a"] for command in terminal.commands]
        assert kinds[:2] == ["q", "d"]
        assert kinds[-1] == "d"
        assert {
            (command["i"], command["p"], command["z"], command["t"], command["C"]) for command in frames(terminal)
        } == {(str(IMAGE), str(PLACEMENT), "-10", "s", "1")}
        size = {(int(command["s"]), int(command["v"])) for command in frames(terminal)}
        assert size == {(16 * 6, 12 * 8)}
        assert {len(data) for _, data in terminal.pictures} == {16 * 6 * 12 * 8 * 4}
        assert all(data.count(bytes((60, 170, 255))) for _, data in terminal.pictures)
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
        assert "all is well" in terminal.text


def test_each_frame_is_one_write_that_leaves_the_cursor_where_it_was(world: World) -> None:
    dispatching(world, 1.0)
    with Terminal(world, graphics=True) as terminal:
        terminal.ready()
        terminal.sends("go")
        rains(terminal)
        raw = terminal.raw
        begin = raw.index(b"\x1b[?2026h\x1b7\x1b[13A\x1b[1G\x1b_Ga=T")
        end = raw.index(b"\x1b8\x1b[?2026l", begin)
        assert end - begin < 200


@pytest.mark.parametrize("how", ["ctrl-c", "esc", "term"])
def test_a_stop_in_the_rain_takes_it_away_at_once(world: World, how: str) -> None:
    dispatching(world, 60)
    with Terminal(world, graphics=True) as terminal:
        terminal.ready()
        terminal.sends("go")
        rains(terminal)
        if how == "term":
            terminal.signals(signal.SIGTERM)
        else:
            terminal.presses(how)
            terminal.sees("Cancelled.")
            terminal.ready()
            assert objects(terminal.pid) == []
            terminal.presses("ctrl-d")
        assert terminal.code() == (143 if how == "term" else 0)
        assert terminal.commands[-1] == {"a": "d", "d": "I", "i": str(IMAGE), "q": "2"}


def test_what_a_killed_session_left_is_removed_by_the_next_one(world: World) -> None:
    dispatching(world, 60)
    with Terminal(world, graphics=True) as terminal:
        terminal.ready()
        terminal.sends("go")
        rains(terminal)
        terminal.signals(signal.SIGKILL)
        left = SHARED / f"smith-{terminal.pid}-{secrets.token_hex(5)}"
        left.write_bytes(b"never read")
    kept = SHARED / f"smith-{os.getpid()}-{secrets.token_hex(5)}"
    kept.write_bytes(b"of a living process")
    try:
        with Terminal(world, graphics=True) as terminal:
            terminal.ready()
            assert not left.exists()
            assert kept.exists()
            assert terminal.commands[1] == {"a": "d", "d": "I", "i": str(IMAGE), "q": "2"}
    finally:
        kept.unlink()


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"TMUX": "/tmp/t"},
        {"TERM": "tmux-256color"},
        {"TERM": "screen"},
        {"SSH_CONNECTION": "a b"},
        {"NO_COLOR": "1"},
    ],
    ids=["plain", "in tmux", "tmux", "screen", "far away", "no colour"],
)
def test_any_other_terminal_gets_the_spinner_and_no_byte_of_graphics(world: World, variables: dict[str, str]) -> None:
    dispatching(world, 0.6)
    told = {"TERM": "xterm-kitty"} if variables else {}
    with Terminal(world, **{**told, **variables}) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("⠹ waiting for Link (explorer)")
        terminal.sees("Over.")
        terminal.presses("ctrl-d")
        terminal.code()
        assert b"\x1b_" not in terminal.raw


def test_a_terminal_that_only_says_it_is_kitty_gets_one_question_and_the_spinner(world: World) -> None:
    dispatching(world, 0.6)
    with Terminal(world, TERM="xterm-kitty") as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("⠹ waiting for Link (explorer)")
        terminal.sees("Over.")
        assert [command["a"] for command in terminal.commands] == ["q"]
        assert objects(terminal.pid) == []


def test_the_setting_turns_it_off(world: World) -> None:
    world.settings("[terminal]\nrain = false\n")
    dispatching(world, 0.6)
    with Terminal(world, graphics=True) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("⠹ waiting for Link (explorer)")
        assert terminal.commands == []


class Picture:
    """A curtain on a terminal of its own."""

    def __init__(self, **more: float) -> None:
        self._far = Far(80, 24)
        self.curtain = Curtain(self._far.tty, lambda: None, is_able=True, **more)

    def tell(self, event: events.Event, job: str = "", role: str = "") -> None:
        self.curtain.take(Envelope("c", "t", event, job, "k", role))

    def written(self) -> bytes:
        return self._far.more()

    def close(self) -> None:
        self.curtain.stop()
        self._far.close()


async def test_six_hundred_frames_are_one_image_and_one_placement_and_cost_little() -> None:
    picture = Picture(tick=0.002)
    began = time.process_time()
    picture.tell(events.RequestStarted("m"), "j", "worker")
    written, used = b"", 0.0
    async with asyncio.timeout(30):
        while written.count(b"a=T") < 600:
            await asyncio.sleep(0.02)
            written += picture.written()
    used = time.process_time() - began
    picture.curtain.stop()
    written += picture.written()
    assert written.count(f"a=T,i={IMAGE},p={PLACEMENT},".encode()) == written.count(b"a=T")
    assert written.endswith(f"\x1b_Ga=d,d=I,i={IMAGE},q=2\x1b\\".encode())
    assert objects(os.getpid()) == []
    # 600 frames are a minute of rain.
    assert used < 0.03 * 60
    picture.close()


async def test_no_frame_follows_a_stop_however_often_it_is_told() -> None:
    picture = Picture(tick=0.005)
    picture.tell(events.RequestStarted("m"), "j", "worker")
    await asyncio.sleep(0.02)
    picture.tell(events.DispatchFinished("j", "worker", "ok", ""))
    picture.curtain.stop()
    picture.curtain.stop()
    first = picture.written()
    await asyncio.sleep(0.03)
    assert first.count(b"a=d") == 1
    assert picture.written() == b""
    picture.close()


async def test_output_of_any_child_clears_it_and_it_comes_back_when_it_is_quiet() -> None:
    picture = Picture(tick=0.01)
    picture.tell(events.RequestStarted("m"), "a", "worker")
    picture.tell(events.RequestStarted("m"), "b", "explorer")
    assert picture.curtain.shows == "explorer"
    picture.tell(events.OutputDelta("m", "x"), "b", "explorer")
    assert picture.curtain.shows == ""
    async with asyncio.timeout(2):
        while not picture.curtain.shows:
            await asyncio.sleep(0.01)
    assert picture.curtain.shows == "worker"
    picture.curtain.hold(True)
    assert picture.curtain.shows == ""
    picture.curtain.hold(False)
    assert picture.curtain.shows == "worker"
    picture.tell(events.TurnCancelRequested())
    assert picture.curtain.shows == ""
    picture.close()


async def test_a_stop_that_a_signal_interrupts_is_made_good_by_the_next() -> None:
    far = Far(80, 24)
    curtain = Curtain(far.tty, lambda: None, is_able=True, tick=0.005)
    curtain.take(Envelope("c", "t", events.RequestStarted("m"), "j", "k", "worker"))
    await asyncio.sleep(0.02)
    assert objects(os.getpid()) != []
    far.tty.ends = True
    with pytest.raises(InterruptedError):
        curtain.stop()
    curtain.stop()
    assert objects(os.getpid()) == []
    assert curtain.shows == ""
    far.close()


def test_a_process_that_dies_leaves_what_the_sweep_of_another_removes(tmp_path: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    gone, living, foreign = (
        tmp_path / f"smith-{dead.stdout.strip()}-ab",
        tmp_path / f"smith-{os.getpid()}-ab",
        tmp_path / "smith-notes",
    )
    for path in (gone, living, foreign):
        path.write_bytes(b"")
    shm.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([living, foreign])


def test_names_are_short_enough_for_every_system_and_only_ours_to_read() -> None:
    name = shm.create(b"pixels")
    path = SHARED / name.lstrip("/")
    assert path.read_bytes() == b"pixels"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(f"{shm.PREFIX}4194304-{'0' * 10}") <= 30
    shm.unlink(name)
    shm.unlink(name)
    assert not path.exists()
