"""A real Neovim with a screen, started with the plug-in and nothing else, driven by keys."""

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pynvim

from tests.nvim.server import TestServer, until

PLUGIN = Path(__file__).resolve().parents[2] / "editors" / "nvim"
FAKE_SERVER = Path(__file__).with_name("fake_server.py")


def find_nvim() -> str:
    """The Neovim on the path, or the one beside this Python."""
    found = shutil.which("nvim") or shutil.which("nvim", path=str(Path(sys.executable).parent))
    assert found, "these tests need Neovim"
    return found


class TestEditor:
    """One Neovim and what a person does with it."""

    __test__ = False

    def __init__(self, folder: Path, server: TestServer) -> None:
        self.server = server
        self._closed = False
        argv = [find_nvim(), "--embed", "--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd", f"cd {folder}"]
        self.nvim = pynvim.attach("child", argv=argv)
        self.pid: int = self.nvim.funcs.getpid()
        self.nvim.ui_attach(100, 40, rgb=True, ext_linegrid=True)
        self.nvim.command(f"set rtp^={PLUGIN}")
        self.nvim.command("runtime plugin/smith.lua")
        command = [sys.executable, str(FAKE_SERVER), "--socket", str(server.path)]
        self.lua("require('smith').setup({ cmd = ..., start_insert = false })", command)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(EOFError, OSError):
            if self.mode()["blocking"]:
                os.kill(self.pid, signal.SIGKILL)
            else:
                self.nvim.command("qa!")
        with contextlib.suppress(EOFError, OSError, RuntimeError):
            self.nvim.close()

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def start(self) -> None:
        """Starts the server for the project of the current buffer, without a chat."""
        self.lua(
            """
            local session = require('smith.session')
            session.get(session.root_of(0)):start()
            """
        )
        until(lambda: self.server.sent("initialized"))
        until(self.is_ready)

    def is_ready(self) -> bool:
        return bool(
            self.lua(
                """
                local connection = require('smith.client').all()[1]
                return connection ~= nil and connection.state == 'ready'
                """
            )
        )

    def edit(self, path: Path) -> None:
        self.nvim.command(f"edit {path}")

    def keys(self, keys: str) -> None:
        """Types `keys`; they are taken up before anything asked afterwards, unless Neovim waits for one more."""
        self.nvim.input(keys)

    def mode(self) -> dict[str, Any]:
        mode: dict[str, Any] = self.nvim.api.get_mode()
        return mode

    def in_mode(self, mode: str) -> None:
        until(lambda: self.mode()["mode"] == mode)

    def lines(self, buffer: int = 0) -> list[str]:
        lines: list[str] = self.nvim.api.buf_get_lines(buffer, 0, -1, True)
        return lines

    def holds(self, buffer: int, lines: list[str]) -> bool:
        """Waits until a buffer holds exactly these lines; shows the difference when it does not."""
        with contextlib.suppress(AssertionError):
            return until(lambda: self.lines(buffer) == lines)
        assert self.lines(buffer) == lines
        return True

    def chat(self) -> int:
        """The number of the chat buffer."""
        number: int = self.lua(
            """
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.bo[buf].filetype == 'smith-chat' then
                return buf
              end
            end
            return 0
            """
        )
        return number

    def messages(self) -> str:
        text: str = self.nvim.command_output("messages")
        return text

    def option(self, name: str, buffer: int = 0) -> Any:
        return self.nvim.api.get_option_value(name, {"buf": buffer})
