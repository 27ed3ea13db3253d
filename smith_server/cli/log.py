"""The log that all commands share: a file, without bodies of messages."""

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from smith_server.config.paths import Places, places

_LOG_BYTES = 2 << 20


def start_log() -> Places:
    """Begin to write the log; the places of this installation."""
    found = places(os.environ, Path.home())
    log_to(found)
    return found


def log_to(found: Places) -> None:
    """Send the log to its file, without bodies of messages; a place that cannot be written has no log."""
    handler: logging.Handler
    # A log that cannot be written is no reason to write to a terminal or to the protocol's client.
    logging.raiseExceptions = False
    try:
        found.log_file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(found.log_file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Its warnings and errors hold the messages that they are about.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
