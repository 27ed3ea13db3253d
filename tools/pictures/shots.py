"""The pictures: what is started, which keys are pressed, at which moment the picture is taken.

Another picture is one more function in `SHOTS`.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageChops

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "tools"))

from pictures.display import Display, NotSeen  # noqa: E402

DEMO = REPO / "tools" / "demo"
TARGET = REPO / "docs" / "pictures"
TYPED = 'CURRENCY = "EUR"'
PROMPT = "name the currency in the receipt"
WIDE = (1180, 640)
FALLING = 5000
"""Pixels of rain that a picture has to show."""


class Scene:
    """A sample project, a home of its own, and a display to show a program on."""

    def __init__(self, folder: Path, script: Path) -> None:
        home = folder / "home"
        self.project = home / "shop"
        shutil.copytree(DEMO / "project", self.project)
        self._environ = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPO),
            "SMITH_HOME": str(home / "smith"),
            "SMITH_PROVIDER": "scripted",
            "SMITH_SCRIPT": str(script),
            "SMITH_DEMO_PYTHON": sys.executable,
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        }

    def show(self, command: Sequence[str], size: tuple[int, int] = WIDE, *, layers: bool = False) -> Display:
        """A window in which `command` runs, in the project."""
        return Display(
            ["sh", "-c", 'cd "$0" && exec "$@"', str(self.project), *command], self._environ, size, layers=layers
        )


def neovim(scene: Scene, target: Path) -> None:
    """An unsaved line of the person, and the question about an edit beside it."""
    start = f"lua dofile([==[{DEMO / 'start.lua'}]==])"
    options = [
        "--clean",
        "-n",
        "--cmd",
        "set background=dark notermguicolors laststatus=3 nohlsearch | colorscheme habamax",
    ]
    with scene.show(["nvim", *options, "-c", start, "prices.py"]) as window:
        window.sees("def receipt")
        window.types(f"gg/^Items\ro{TYPED}\x1b")
        window.sees(TYPED)
        window.types(":Smith\r")
        window.until("the chat is open", lambda: window.text().count("│") > 10)
        window.types(f"{PROMPT}\x13")
        window.sees("May I run")
        window.types("\x1b")
        window.settle()
        window.picture().save(target)


def emacs(scene: Scene, target: Path) -> None:
    """The same in Emacs."""
    load = ["-Q", "-nw", "-L", str(REPO / "editors" / "emacs"), "-l", "smith"]
    python = f'(setq smith-command (list "{sys.executable}" "-m" "smith_server" "serve"))'
    looks = "(progn (menu-bar-mode -1) (setq inhibit-startup-screen t) (load-theme 'wombat t))"
    with scene.show(["emacs", *load, "--eval", looks, "--eval", python, "prices.py"]) as window:
        window.sees("def receipt")
        window.types("\x1b<\x13Items\r\x05\x0a" + TYPED)
        window.sees(TYPED)
        window.types("\x1bxsmith\r")
        window.until("the chat is open", lambda: window.text().count("prices.py") >= 1 and "smith" in window.text())
        window.settle()
        window.types(f"{PROMPT}\r")
        window.sees("May I run")
        window.settle()
        window.picture().save(target)


def terminal(scene: Scene, target: Path) -> None:
    """A session in which a worker waits for its model, and it rains."""
    with scene.show([sys.executable, "-m", "smith_server"], (960, 600), layers=True) as window:
        window.sees("Enter sends")
        window.types("what is in prices.py?\r")
        window.sees("I would round")
        window.types("do that\r")
        window.sees("worker: read prices.py")
        window.sees("waiting for Niobe (worker)")
        window.until("drops on their way", lambda: _greens(window.picture()) > FALLING)
        window.picture().save(target)


def _greens(picture: Image.Image) -> int:
    """Pixels that have the colour of a worker's rain, however faint."""
    red, green, _ = picture.split()
    return ImageChops.subtract(green, red).point(lambda value: 255 * (value > 40)).histogram()[255]


SHOTS: Mapping[str, tuple[Callable[[Scene, Path], None], Path]] = {
    "neovim": (neovim, DEMO / "script.json"),
    "emacs": (emacs, DEMO / "script.json"),
    "terminal": (terminal, HERE / "terminal.json"),
}


def main(arguments: Sequence[str]) -> int:
    """Make the pictures named, or all, in `docs/pictures` or behind `--into FOLDER`; 1 when one could not be made."""
    parser = argparse.ArgumentParser(prog="tools/pictures/make")
    parser.add_argument("names", nargs="*", choices=[[], *SHOTS], help="pictures to make; all without one")
    parser.add_argument("--into", type=Path, default=TARGET, help="folder for them")
    words = parser.parse_args(arguments)
    words.into.mkdir(exist_ok=True)
    return max([make(name, words.into / f"{name}.png") for name in words.names or SHOTS])


def make(name: str, target: Path) -> int:
    """Make one picture; 1 when it could not be made."""
    shot, script = SHOTS[name]
    with tempfile.TemporaryDirectory(prefix="smith-picture-", ignore_cleanup_errors=True) as folder:
        try:
            shot(Scene(Path(folder), script), target)
        except NotSeen as problem:
            print(f"{name}: {problem}", file=sys.stderr)
            return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
