"""The settings of every project that is open, read again when a file changed, and what was set at run time."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from smith_server.config.layers import Loaded, Sources, read, reread, stamp
from smith_server.config.schema import Settings
from smith_server.runtime.options import Options
from smith_server.store import overrides
from smith_server.store.db import Database


class Configuration:
    """The service `config`. What it gives is frozen: a turn keeps what it began with."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._database: Database | None = None
        self._patch: Mapping[str, Any] = {}
        self._loaded: dict[Path, tuple[object, Loaded]] = {}
        # A settings file that was named and is not there ends the start, before anything is opened.
        self.own = read(self._sources(options.places.config))
        """The person's own settings, as if there were no project."""

    @property
    def file(self) -> Path:
        """Where the person's own settings belong."""
        return self._options.settings_file

    async def open(self, database: Database) -> None:
        """Take in what was set at run time, which lies in the store."""
        self._database = database
        self._patch = (await database.call(overrides.load)).tree

    def settings(self, root: Path) -> Settings:
        """The settings for a project."""
        return self.loaded(root).settings

    def loaded(self, root: Path) -> Loaded:
        """The same with origins and problems. What becomes unsafe later leaves the last good settings in force."""
        options = self._options
        now = stamp(options.places, root, options.config_file)
        known = self._loaded.get(root)
        if known is None or known[0] != now:
            sources = self._sources(root)
            found = read(sources) if known is None else reread(sources, known[1])
            known = self._loaded[root] = (now, found)
        return known[1]

    def written(self, root: Path) -> Sequence[Settings]:
        """The settings as files and `/config set` alone make them, then with the environment: what was there before

        somebody named a provider for this process. Empty when nobody did.
        """
        options = self._options
        is_named = any(options.flags.get(table) for table in ("defaults", "llm_config"))
        if not is_named and not options.environ.get("SMITH_PROVIDER"):
            return ()
        sources = msgspec.structs.replace(self._sources(root), ephemeral={})
        written = msgspec.structs.replace(sources, environ={})
        return read(written).settings, read(sources).settings

    async def overrides(self) -> Mapping[str, Any]:
        """What was set at run time, as a tree."""
        return self._patch

    async def override(self, patch: Mapping[str, Any]) -> None:
        """Store such a tree; it holds from the next turn on."""
        assert self._database is not None, "the store comes first"
        await self._database.call(partial(overrides.save, tree=patch))
        self._patch = patch
        self._loaded.clear()

    def _sources(self, root: Path) -> Sources:
        options = self._options
        layers = {options.set_by: options.flags}
        return Sources(options.places, root, options.environ, options.config_file, self._patch, layers)
