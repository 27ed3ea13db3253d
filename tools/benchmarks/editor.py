"""A Neovim with a screen, driven over its own remote interface."""

import asyncio
import itertools
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import msgpack

from benchmarks.place import REPO, Place

PLUGIN = REPO / "editors" / "nvim"
_WATCH = """
local buf = ...
vim.api.nvim_buf_attach(buf, false, {
  on_lines = function(_, _, _, first, _, last)
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, first, last, false), '\\n')
    if _G.awaited and text:find(_G.awaited, 1, true) then
      _G.awaited = nil
      vim.rpcnotify(0, 'seen', vim.uv.hrtime())
    end
  end,
})
"""


def find() -> str | None:
    """The Neovim on the path, or the one beside this Python."""
    return shutil.which("nvim") or shutil.which("nvim", path=str(Path(sys.executable).parent))


class Neovim:
    """One editor. `seen` is when the buffer got what was expected, in nanoseconds."""

    def __init__(self, process: asyncio.subprocess.Process, place: Place) -> None:
        self.seen = 0
        self._process = process
        self._place = place
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, place: Place) -> "Neovim":
        """An editor without anybody's configuration, in the project."""
        words = ["--embed", "--headless", "-u", "NONE", "-i", "NONE", "-n"]
        process = await asyncio.create_subprocess_exec(
            find() or "nvim",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=place.environ(),
            cwd=place.project,
            start_new_session=True,
        )
        place.own(process.pid)
        made = cls(process, place)
        await made.call("nvim_ui_attach", 100, 40, {"rgb": True, "ext_linegrid": True})
        return made

    async def call(self, method: str, *arguments: Any) -> Any:
        """One request to the editor. Raises `RuntimeError` with what it says."""
        name = next(self._ids)
        self._answers[name] = asyncio.get_running_loop().create_future()
        self._send([0, name, method, arguments])
        return await asyncio.wait_for(self._answers[name], 20)

    async def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua in the editor; what it returns."""
        return await self.call("nvim_exec_lua", code, arguments)

    def key(self, keys: str) -> int:
        """Type; the time just before."""
        now = time.monotonic_ns()
        self._send([0, next(self._ids), "nvim_input", [keys]])
        return now

    async def watch(self, buffer: int) -> None:
        """Note from now on what comes into a buffer."""
        await self.lua(_WATCH, buffer)

    async def expect(self, words: str) -> None:
        """Note when these words come into the buffer that is watched."""
        await self.lua("_G.awaited = ...", words)

    async def sees(self) -> int:
        """Wait for them; the time."""
        async with asyncio.timeout(30):
            while not self.seen:
                self._news.clear()
                await self._news.wait()
        seen, self.seen = self.seen, 0
        return seen

    async def close(self) -> None:
        """End the editor and all that it started."""
        self._place.end(self._process.pid)
        await self._process.wait()
        self._reader.cancel()

    def _send(self, message: list[Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgpack.packb(message))

    async def _read(self) -> None:
        assert self._process.stdout is not None
        unpacker = msgpack.Unpacker(strict_map_key=False, unicode_errors="replace")
        while data := await self._process.stdout.read(1 << 16):
            unpacker.feed(data)
            for message in unpacker:
                self._take(message)

    def _take(self, message: list[Any]) -> None:
        if message[0] == 2 and message[1] == "seen":
            self.seen = message[2][0]
            self._news.set()
        elif message[0] == 1 and (answer := self._answers.pop(message[1], None)):
            _, _, error, result = message
            if error:
                answer.set_exception(RuntimeError(str(error[1])))
            else:
                answer.set_result(result)
