"""The key that a command of the person's own prints: asked for once in a process."""

import asyncio
import os
import signal
from contextlib import suppress

from smith_server.core.errors import failure

_PATIENCE = 60.0
"""Seconds: a command may ask the person to unlock something."""


class KeyCommands:
    """Runs each command once, as long as it works."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def key(self, command: str, provider: str) -> str:
        """What `command` prints, its first line. Raises a `policy` failure `no_key` that shows nothing of it."""
        async with self._lock:
            if command not in self._keys:
                self._keys[command] = await _printed(command, provider)
            return self._keys[command]


async def _printed(command: str, provider: str) -> str:
    null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_shell(command, stdin=null, stdout=pipe, stderr=null, start_new_session=True)
    try:
        async with asyncio.timeout(_PATIENCE):
            out, _ = await child.communicate()
    except TimeoutError:
        raise failure("policy", "no_key", _text(provider, f"has not ended after {_PATIENCE:g} s")) from None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    key = out.decode("utf-8", "replace").strip().partition("\n")[0].strip()
    if child.returncode != 0 or not key:
        raise failure("policy", "no_key", _text(provider, f"gave no key (exit code {child.returncode})"))
    return key


def _text(provider: str, what: str) -> str:
    return f"The command in `providers.{provider}.api_key_command` {what}. Run it in a shell to see why."
