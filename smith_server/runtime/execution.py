"""What a turn is run in: who asks, in which conversation and folder, with which settings. Frozen while it runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.config.layers import Loaded
from smith_server.config.schema import Settings
from smith_server.workspace.project import Project


class Scope(Struct, frozen=True):
    """Where a turn works: the folder it was asked from, and the project that lies in, found when it began."""

    cwd: Path
    project: Project | None = None

    @property
    def project_id(self) -> str:
        """The identity of the project, "" for none."""
        return self.project.id if self.project is not None else ""


class ExecutionContext(Struct, frozen=True):
    """One for each turn; a child inherits all but its names.

    `loaded` are its settings: what is set while it runs holds from the next turn on. `service_handles` are the
    services by name.
    """

    session_id: str
    conversation_id: str
    active_role: str
    loaded: Loaded
    service_handles: Mapping[str, Any]

    @property
    def settings(self) -> Settings:
        """The settings, frozen to the leaves."""
        return self.loaded.settings

    @property
    def config_snapshot(self) -> Mapping[str, Any]:
        """The same as a tree, frozen too."""
        return self.loaded.tree

    def of_child(self, job: str, role: str) -> "ExecutionContext":
        """The same for a child; its conversation is one in memory, its messages are stored with the parent's."""
        return msgspec.structs.replace(
            self,
            session_id=f"session-child-{job}",
            conversation_id=f"{self.conversation_id}:child:{job}",
            active_role=role,
        )


def context_for(conversation: str, role: str, loaded: Loaded, handles: Mapping[str, Any]) -> ExecutionContext:
    """The context of a turn of a conversation itself."""
    name = f"session-{conversation}"
    return ExecutionContext(name, conversation, role, loaded, handles)
