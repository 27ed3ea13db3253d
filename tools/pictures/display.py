"""A virtual display with one kitty on it: keys in, text and pixels out."""

import contextlib
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from PIL import Image

SECONDS = 30.0
PROGRAMS = ("Xvfb", "kitty")
SHADE = (16, 18, 24)
"""The background."""

_SCREEN = (1280, 900)


class NotSeen(Exception):
    """Something that had to happen did not; the text says what, and what was there instead."""


class Display:
    """An X server and a kitty of a certain size in pixels that runs `command`.

    With `layers` the background is a picture: kitty 0.26 draws by software and does not clear, under pictures
    that lie behind the text, what was there before, unless it has one. Colours of cells are wrong then.
    `watcher` is a Python file that kitty runs in its own process.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        size: tuple[int, int] = (960, 640),
        *,
        layers: bool = False,
        watcher: Path | None = None,
    ) -> None:
        self._size = size
        self._layers = layers
        self._watcher = watcher
        # Sockets have short names.
        self._folder = Path(tempfile.mkdtemp(prefix="smith-x-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._socket = f"unix:{self._folder / 'kitty.sock'}"
        try:
            number = self._serve()
            self._environ = {
                **environ,
                "DISPLAY": f":{number}",
                "KITTY_DISABLE_WAYLAND": "1",
                "LIBGL_ALWAYS_SOFTWARE": "1",
            }
            self._open(command)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        for process in reversed(self._processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def types(self, text: str) -> None:
        """Send characters, control characters among them."""
        self._remote("send-text", "--stdin", stdin=text)

    def text(self) -> str:
        """The rows in sight, without blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._remote("get-text").splitlines())

    def resize(self, columns: int, rows: int) -> None:
        """Another size in cells."""
        self._remote("resize-os-window", "--width", str(columns), "--height", str(rows), "--unit", "cells")

    def child(self) -> int:
        """The process that runs in the window."""
        return int(self._window()["pid"])

    def rows(self) -> Iterator[tuple[str, int, int]]:
        """Each row in sight: its text, and the first line of pixels that is its own and the first that is not."""
        count = int(self._window()["lines"])
        height = self._size[1] // count
        above = (self._size[1] - height * count) // 2
        text = [*self.text().split("\n"), *[""] * count]
        return ((text[row], above + row * height, above + (row + 1) * height) for row in range(count))

    def _window(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._remote("ls"))[0]["tabs"][0]["windows"][0]
        return found

    def sees(self, text: str, seconds: float = SECONDS) -> None:
        """Wait for `text`. Raises `NotSeen`."""
        self.until(f"{text!r} on the screen", lambda: text in self.text(), seconds)

    def until(self, what: str, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Wait until something holds. Raises `NotSeen`."""
        limit = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > limit:
                raise NotSeen(f"never: {what}. The screen was:\n{self.text()}")
            time.sleep(0.05)

    def settle(self, seconds: float = 0.5) -> None:
        """Wait for what is drawn late."""
        time.sleep(seconds)

    def picture(self) -> Image.Image:
        """The window as it is now, in red, green and blue."""
        data = (self._folder / "Xvfb_screen0").read_bytes()
        header = struct.unpack(">25I", data[:100])
        width, height, line = header[4], header[5], header[12]
        begin = header[0] + 12 * header[19]
        pixels = data[begin : begin + line * height]
        return Image.frombytes("RGB", (width, height), pixels, "raw", "BGRX", line).crop((0, 0, *self._size))

    def _serve(self) -> int:
        """Start the X server; the number of its display."""
        reading, writing = os.pipe()
        screen = "x".join(map(str, (*_SCREEN, 24)))
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", screen, "-fbdir", str(self._folder)]
        quiet = subprocess.DEVNULL
        self._processes.append(subprocess.Popen(command, pass_fds=[writing], stdout=quiet, stderr=quiet))
        os.close(writing)
        with os.fdopen(reading) as answer:
            return int(answer.readline())

    def _open(self, command: Sequence[str]) -> None:
        shade = self._folder / "shade.png"
        Image.new("RGB", (8, 8), SHADE).save(shade)
        width, height = self._size
        options = {
            "update_check_interval": 0,
            "remember_window_size": "no",
            "initial_window_width": width,
            "initial_window_height": height,
            "sync_to_monitor": "no",
            "allow_remote_control": "yes",
            "background": "#{:02x}{:02x}{:02x}".format(*SHADE),
            "cursor_blink_interval": 0,
            "enable_audio_bell": "no",
            "confirm_os_window_close": 0,
        }
        if self._layers:
            options |= {"background_image": shade, "background_image_layout": "tiled"}
        if self._watcher is not None:
            options["watcher"] = self._watcher
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        line = ["kitty", "--config", "NONE", *given, "--listen-on", self._socket, *command]
        quiet = subprocess.DEVNULL
        self._processes.append(subprocess.Popen(line, env=self._environ, stdout=quiet, stderr=quiet))
        limit = time.monotonic() + SECONDS
        while not self._answers():
            if time.monotonic() > limit or self._processes[-1].poll() is not None:
                raise NotSeen("kitty did not open a window")
            time.sleep(0.05)

    def _answers(self) -> bool:
        return (self._folder / "kitty.sock").exists() and self._try("ls", stdin="").returncode == 0

    def _remote(self, *words: str, stdin: str = "") -> str:
        done = self._try(*words, stdin=stdin)
        if done.returncode:
            raise NotSeen(f"kitty does not answer: {done.stderr}")
        return done.stdout

    def _try(self, *words: str, stdin: str) -> subprocess.CompletedProcess[str]:
        command = ["kitty", "@", "--to", self._socket, *words]
        return subprocess.run(command, env=self._environ, input=stdin, capture_output=True, text=True, check=False)
