"""From parsed words to the options of a process."""

import argparse
import os
from pathlib import Path
from typing import Any

from smith_server.config.paths import places
from smith_server.runtime.services import Options


def options_from(words: argparse.Namespace, *, resume: bool, more: dict[str, Any] | None = None) -> Options:
    """How this process runs: places, environment, and the flags as settings."""
    found = places(os.environ, Path.home())
    flags: dict[str, Any] = dict(more or {})
    if words.provider:
        flags["defaults"] = {"provider": words.provider}
    if words.model:
        flags["default_model"] = words.model
    config_file = Path(words.config) if words.config else None
    return Options(found, dict(os.environ), flags, config_file, resume)
