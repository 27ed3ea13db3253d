"""A real Neovim with the real plug-in and the real server, used by keys as a person would."""

import contextlib
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pynvim

from tests.e2e.world import REPOSITORY, World

T = TypeVar("T")
PATIENCE = 20.0


def until(found: Callable[[], T], patience: float = PATIENCE) -> T:
    """Poll until `found` gives something true, and give that back."""
    deadline = time.monotonic() + patience
    while not (value := found()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience} s in vain; last seen: {value!r}")
        time.sleep(0.01)
    return value


class Neovim:
    """One editor in the project of a world."""

    def __init__(self, world: World, *arguments: str) -> None:
        found = shutil.which("nvim") or shutil.which("nvim", path=str(Path(sys.executable).parent))
        assert found, "these tests need Neovim"
        environ = {**world.environ, **{f"XDG_{name}_HOME": str(world.home / name) for name in ("STATE", "DATA")}}
        words = [f"{name}={value}" for name, value in environ.items()]
        nvim = [found, "--embed", "--headless", "-u", "NONE", "-i", "NONE", "-n", "--cmd", f"cd {world.root}"]
        self.nvim = pynvim.attach("child", argv=["env", "-i", *words, *nvim, *arguments])
        self.nvim.ui_attach(100, 40, rgb=True, ext_linegrid=True)
        self.nvim.command(f"set rtp^={REPOSITORY / 'editors' / 'nvim'}")
        self.nvim.command("runtime plugin/smith.lua")
        command = [sys.executable, "-m", "smith_server", "serve"]
        self.lua("require('smith').setup({ cmd = ..., start_insert = false })", command)
        self.pid = int(self.nvim.call("getpid"))

    def close(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            self.nvim.command("qa!")
        with contextlib.suppress(EOFError, OSError, RuntimeError):
            self.nvim.close()

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def keys(self, keys: str) -> None:
        self.nvim.input(keys)

    def edit(self, path: Path) -> int:
        """Open a file; the number of its buffer."""
        self.nvim.command(f"edit {path}")
        return int(self.nvim.current.buffer.number)

    def text(self, buffer: int) -> str:
        return "\n".join(self.nvim.buffers[buffer][:])

    def chat(self) -> str:
        """What the chat buffer shows."""
        code = """
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.bo[buf].filetype == 'smith-chat' then
            return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
          end
        end
        return ''
        """
        return str(self.lua(code))

    def send(self, prompt: str) -> None:
        """Send a prompt from where the person is, without going to the chat."""
        self.lua("require('smith').send(...)", prompt)

    def shows(self, words: str) -> None:
        """Wait until the chat shows `words`."""
        try:
            until(lambda: words in self.chat())
        except AssertionError:
            raise AssertionError(f"the chat never showed {words!r}:\n{self.chat()}") from None

    def servers(self) -> list[int]:
        """The processes of the language servers that this editor started."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(child) for child in children]
