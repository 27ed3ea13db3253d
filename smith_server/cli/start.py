"""From parsed words to the options of a process, and the log that all commands share."""

import argparse
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from smith_server.config.paths import Places, places
from smith_server.runtime.services import Options

_LOG_BYTES = 2 << 20


def options_from(words: argparse.Namespace, *, resume: bool, more: dict[str, Any] | None = None) -> Options:
    """How this process runs: places, environment, and the flags as settings."""
    found = places(os.environ, Path.home())
    log_to(found)
    flags: dict[str, Any] = dict(more or {})
    if words.provider:
        flags["defaults"] = {"provider": words.provider}
    if words.model:
        flags["default_model"] = words.model
    return Options(found, dict(os.environ), flags, words.config, resume)


def log_to(found: Places) -> None:
    """Send the log to its file, without bodies of messages; a place that cannot be written has no log."""
    handler: logging.Handler
    try:
        found.log_file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(found.log_file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("pygls", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
