"""Looks at the processes of the machine, the way a person with `ps` would."""

import asyncio
from collections.abc import Callable
from pathlib import Path


def living(mark: str) -> list[str]:
    """Command lines that hold `mark`, of processes that run."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, UnicodeError):
            continue
        if mark in line and state not in "ZX":
            found.append(f"{folder.name} {line.strip()}")
    return found


async def until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds; `TimeoutError` after `seconds`."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


async def gone(mark: str, seconds: float = 5.0) -> None:
    """Wait until no process holds `mark` any more."""
    try:
        await until(lambda: not living(mark), seconds)
    except TimeoutError:
        raise AssertionError(f"still there after {seconds} s: {living(mark)}") from None
