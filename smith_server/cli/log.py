"""The log that all commands share: a file, without bodies of messages."""

import logging
import os
from functools import cached_property
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
        handler = _LogFile(found.log_file)
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Its warnings and errors hold the messages that they are about.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)


class _LogFile(logging.Handler):
    """A file of bounded size. What writes it is loaded with the first record: most runs have none."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    @cached_property
    def _file(self) -> logging.Handler:
        from logging.handlers import RotatingFileHandler

        file = RotatingFileHandler(self._path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        file.setFormatter(self.formatter)
        return file

    def emit(self, record: logging.LogRecord) -> None:
        self._file.emit(record)
