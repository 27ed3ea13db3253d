"""How a process was started."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from smith_server.config.paths import Places
from smith_server.core.ports import Chance


class Options(Struct, frozen=True):
    """Places, environment, settings that hold for this process alone, a named settings file.

    `flags` are settings as a tree, `set_by` says to people who gave them. `model` is what conversations begin
    with, whatever was chosen for them before. `resume` tells whether the first conversation of a project is its
    last one; None leaves that to `terminal.resume`. `conversation` is the id, or the begin of it, of the one that this
    process begins with instead. `service_handles` replaces services by name: what is handed in
    is not made. `chance` is where chance comes from in this process. `unattended`: nobody looks on, so a conversation
    that fails before it was answered is not the one to go on with.
    """

    places: Places
    environ: Mapping[str, str]
    flags: dict[str, Any] = {}
    config_file: Path | None = None
    resume: bool | None = False
    conversation: str = ""
    set_by: str = "command line"
    service_handles: Mapping[str, Any] = {}
    model: str = ""
    chance: Chance = random.random
    unattended: bool = False

    @property
    def settings_file(self) -> Path:
        """Where a person's own settings belong."""
        return self.config_file or self.places.config_file
