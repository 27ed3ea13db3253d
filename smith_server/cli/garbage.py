"""Collecting garbage after a start: everything made until then stays and is never looked through again."""

import asyncio
import gc

_SECONDS = 1.0
"""What a start imports is imported by then; a run that is over sooner needs no collection."""


def collect_later() -> None:
    """Begin to collect in a moment; `main` has put it off."""
    asyncio.get_running_loop().call_later(_SECONDS, _collect)


def _collect() -> None:
    gc.freeze()
    gc.enable()
