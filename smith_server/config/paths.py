"""Where files live: the places of the system, `SMITH_HOME`, or an older `~/.smith`."""

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from msgspec import Struct


class Places(Struct, frozen=True):
    """The folders of one installation; nothing is created by knowing them.

    `note` is a sentence for the person when the place is not the usual one, else "".
    """

    config: Path
    data: Path
    state: Path
    note: str = ""
    cache: Path | None = None

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def database(self) -> Path:
        return self.data / "smith.db"

    @property
    def jobs(self) -> Path:
        return self.state / "jobs"

    @property
    def cache_folder(self) -> Path:
        """What can be had again lies here."""
        return self.cache or self.state / "cache"

    @property
    def log_file(self) -> Path:
        return self.state / "logs" / "smith.log"


def places(environ: Mapping[str, str], home: Path) -> Places:
    """The folders to use: `SMITH_HOME` for all, else `~/.smith` if it is the only one there, else XDG."""
    if root := environ.get("SMITH_HOME"):
        return _under(Path(root).expanduser())
    system = Places(
        platformdirs.user_config_path("smith"),
        platformdirs.user_data_path("smith"),
        platformdirs.user_state_path("smith"),
        cache=platformdirs.user_cache_path("smith"),
    )
    old = home / ".smith"
    if old.is_dir() and not any(folder.is_dir() for folder in (system.config, system.data, system.state)):
        return _under(old, f"Using {old} for settings and conversations.")
    return system


def _under(root: Path, note: str = "") -> Places:
    return Places(root, root, root, note)


def project_root(folder: Path) -> Path:
    """The nearest ancestor of `folder` that holds a `.git` folder or file; else `folder` itself."""
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return folder
