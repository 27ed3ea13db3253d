"""The places that settings come from, in a scratch folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smith_server.config import layers
from smith_server.config.layers import Loaded, Sources
from smith_server.config.paths import Places


class Scratch:
    """A home and a project; `load` reads what stands there."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        (self.project / ".smith").mkdir(parents=True)
        self.home.mkdir()
        self.environ: dict[str, str] = {}
        self.flags: dict[str, Any] = {}
        self.patch: dict[str, Any] = {}
        self.editor_project: dict[str, Any] = {}

    @property
    def own(self) -> Path:
        return self.home / "config.toml"

    @property
    def projects(self) -> Path:
        return self.project / ".smith" / "config.toml"

    @property
    def places(self) -> Places:
        return Places(self.home, self.home, self.home)

    def sources(self, explicit: Path | None = None) -> Sources:
        ephemeral: Mapping[str, Mapping[str, Any]] = {"command line": self.flags}
        return Sources(self.places, self.project, self.environ, explicit, self.patch, ephemeral, self.editor_project)

    def load(self, explicit: Path | None = None) -> Loaded:
        return layers.read(self.sources(explicit))

    def told(self) -> list[str]:
        """The settings that the problems are about, in their order."""
        return [text.partition("`")[2].partition("`")[0] for text in self.load().problems]


def value(loaded: Loaded, dotted: str) -> Any:
    """One value of the effective tree; None when it is not in it."""
    node: Any = loaded.tree
    for name in dotted.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node
