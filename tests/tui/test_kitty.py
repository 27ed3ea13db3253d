"""The rain in a real kitty on a virtual display: what a person would see of it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from tests.e2e.world import World
from tests.tui.terminal import SHARED, objects
from tests.tui.test_rain import dispatching
from tools.pictures.display import Display

pytestmark = [pytest.mark.kitty, pytest.mark.slow]

STRIP = 0.42
"""The part of the width in which it may rain."""


def display(world: World) -> Display:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shell = f"while true; do {sys.executable} -m smith_server; echo CODE $?; read again; done"
    return Display(["sh", "-c", f"cd {world.root}; {shell}"], {**world.environ, "PATH": path}, layers=True)


def blue(image: Image.Image) -> Image.Image:
    """A mask of what has the colour of an explorer, however faint."""
    red, green, light = image.split()
    more_than_red = ImageChops.subtract(light, red).point(lambda value: 255 * (value > 40))
    more_than_green = ImageChops.subtract(light, green).point(lambda value: 255 * (value > 15))
    return ImageChops.multiply(more_than_red, more_than_green)


def started(window: Display) -> None:
    window.sees("❯")
    window.types("go\r")
    window.sees("waiting for Link (explorer)")


def rains(window: Display) -> Image.Image:
    window.until("the picture of the rain", lambda: blue(window.picture()).histogram()[255] > 3000)
    return blue(window.picture())


def is_dry(window: Display) -> bool:
    """Not a pixel where no text is; words have colours too."""
    mask = blue(window.picture())
    empty = [mask.crop((0, top, mask.width, end)) for text, top, end in window.rows() if not text]
    return len(empty) > 10 and all(row.getbbox() is None for row in empty)


def smith(window: Display) -> int:
    """The session that runs in the window."""
    children = Path(f"/proc/{window.child()}/task/{window.child()}/children").read_text().split()
    return int(children[0])


def test_the_rain_falls_behind_the_text_and_a_stop_leaves_not_a_pixel(world: World) -> None:
    dispatching(world, 60)
    with display(world) as window:
        started(window)
        text = [line for line in window.text().splitlines() if "waiting for" not in line]
        assert "… dispatch look around" in text
        box = rains(window).getbbox()
        assert box is not None
        assert box[2] < STRIP * window.picture().width
        assert [line for line in window.text().splitlines() if "waiting for" not in line] == text
        process = smith(window)
        ticks = cpu(process)
        seconds = 3.0
        time.sleep(seconds)
        assert cpu(process) - ticks <= 0.03 * seconds + 0.02
        window.types("\x03")
        window.sees("i Cancelled.")
        window.until("no pixel of it", lambda: is_dry(window))
        assert objects(process) == []


def test_leaving_and_being_killed_leave_nothing(world: World) -> None:
    dispatching(world, 60)
    with display(world) as window:
        started(window)
        rains(window)
        process = smith(window)
        window.types("\x03\x03")
        window.sees("CODE 130")
        window.until("no pixel of it", lambda: is_dry(window))
        assert objects(process) == []
        window.types("\r")
        window.until("the next one", lambda: window.text().count("Enter sends") == 2)
        window.types("go\r")
        window.until("it waits", lambda: window.text().count("waiting for Link") == 1)
        rains(window)
        process = smith(window)
        os.kill(process, signal.SIGKILL)
        window.sees("CODE 137")
        (SHARED / f"smith-{process}-00").write_bytes(b"a frame that nobody read")
        assert not is_dry(window)
        window.types("\n")
        window.until("the one after it", lambda: window.text().count("Enter sends") == 3)
        window.until("no pixel of it", lambda: is_dry(window))
        assert objects(process) == []


def test_kitty_holds_one_image_and_one_placement_over_six_hundred_frames(world: World, tmp_path: Path) -> None:
    looks = tmp_path / "looks"
    here = Path(__file__).parent
    environ = {**world.environ, "PYTHONPATH": str(here.parents[1]), "SMITH_WATCHED": str(looks)}
    program = [sys.executable, "-m", "tests.tui.raining", "600"]
    with Display(program, environ, layers=True, watcher=here / "watcher.py") as window:
        process = window.child()
        window.sees("FRAMES 6", 60)
        window.until("no image", lambda: looks.read_text().endswith("\n0 0\n"))
        assert objects(process) == []
    counts = looks.read_text().split("\n")[:-1]
    raining = counts[counts.index("1 1") : len(counts) - counts[::-1].index("1 1")]
    assert set(raining) == {"1 1"}
    assert set(counts) == {"0 0", "1 1"}
    # Kitty is asked ten times a second, and 600 frames take it twelve seconds at least.
    assert len(raining) > 60


def test_the_script_takes_a_picture_of_the_terminal(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "tools" / "pictures" / "shots.py"
    command = [sys.executable, str(script), "--into", str(tmp_path / "pictures"), "terminal"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    picture = Image.open(tmp_path / "pictures" / "terminal.png")
    green = ImageChops.subtract(picture.split()[1], picture.split()[0]).point(lambda value: 255 * (value > 40))
    assert picture.size == (960, 600)
    assert green.histogram()[255] > 3000


def cpu(process: int) -> float:
    """Seconds of one core that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
