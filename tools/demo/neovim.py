"""A real Neovim, driven from outside: the keys a person would press, and what they would see.

Shown in this terminal, or without one when `visible` is false; the rest is the same.
"""

import contextlib
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pynvim

T = TypeVar("T")

HERE = Path(__file__).resolve().parent


class NotSeen(Exception):
    """Something that had to happen did not; the text says what, and what was there instead."""


class Neovim:
    """One editor with the plug-in of this checkout, on the file that the demo is about."""

    def __init__(self, program: str, file: Path, variables: Mapping[str, str], visible: bool) -> None:
        self.visible = visible
        self.file = file
        address = file.parent.parent / "nvim.sock"
        command = [program, "--clean", "-n", "--listen", str(address), *([] if visible else ["--headless"])]
        command += ["-c", f"lua dofile([==[{HERE / 'start.lua'}]==])", str(file)]
        quiet: dict[str, Any] = {} if visible else {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        if not visible:
            quiet["stderr"] = subprocess.DEVNULL
        self._process = subprocess.Popen(command, cwd=file.parent, env=dict(variables), **quiet)
        wait("Neovim listens", address.exists)
        self._nvim = pynvim.attach("socket", path=str(address))

    def keys(self, text: str) -> None:
        """Press keys in Neovim's own notation; at the pace of a person when somebody watches."""
        if not self.visible:
            self._nvim.input(text)
            return
        for key in _single_keys(text):
            self._nvim.input(key)
            time.sleep(0.03 if len(key) == 1 else 0.3)

    def lua(self, code: str, *arguments: object) -> Any:
        """Run Lua in the editor; what it returns."""
        return self._nvim.exec_lua(code, *arguments)

    def text(self) -> str:
        """The buffer of the file, as the person sees it."""
        return "\n".join(self.lua("return demo.lines(...)", str(self.file)))

    def chat(self) -> str:
        """The chat buffer, folded lines included; "" before it is open."""
        return "\n".join(self.lua("return demo.chat()"))

    def caption(self, text: str, seconds: float = 0.0) -> None:
        """A line over the editor for whoever watches, left there for `seconds` at least."""
        if self.visible:
            self.lua("demo.caption(...)", text)
            time.sleep(seconds)

    def wait_for_chat(self, text: str, seconds: float = 10.0) -> None:
        """Wait until the chat says `text`."""
        try:
            wait(f"the chat says {text!r}", lambda: text in self.chat(), seconds)
        except NotSeen as problem:
            said = self.lua("return vim.fn.execute('messages')")
            raise NotSeen(f"{problem}. The chat was:\n{self.chat()}\nNeovim said:{said}") from None

    def close(self) -> None:
        """Leave the editor; whatever is in its buffers is dropped."""
        with contextlib.suppress(EOFError, OSError):  # it is gone before it can answer
            self._nvim.command("qall!")
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise NotSeen("Neovim did not leave within 5 s") from None


def wait(what: str, condition: Callable[[], T | None], seconds: float = 10.0) -> T:
    """Ask again until `condition` gives something true; that value. Raises `NotSeen` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise NotSeen(f"waited {seconds:.0f} s, but it is not so that {what}")
        time.sleep(0.02)
    return value


def _single_keys(text: str) -> list[str]:
    keys: list[str] = []
    while text:
        end = text.find(">") + 1 if text.startswith("<") else 1
        keys.append(text[:end])
        text = text[end:]
    return keys
