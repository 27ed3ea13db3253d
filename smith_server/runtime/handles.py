"""The ten services by name, and what each has to offer; `composition` makes them.

A service may need another one: it keeps the handles and looks there when it works, so that the order in which
they are made does not matter.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, get_type_hints

from smith_server.core.editor import Editor
from smith_server.core.ports import Approver
from smith_server.policy.roles import RoleCatalog
from smith_server.runtime.completion import Completion
from smith_server.runtime.configuration import Configuration
from smith_server.runtime.conversations import Shelf
from smith_server.runtime.dispatch import Dispatching
from smith_server.runtime.prompts import Prompts
from smith_server.runtime.providers import Providers
from smith_server.runtime.session import Session
from smith_server.runtime.toolbox import Toolbox
from smith_server.store.db import Database


class Face(Protocol):
    """The service `ui`, what a front-end brings: a name, its open buffers, and a person to ask."""

    name: str

    def editor(self, session: Session) -> Editor: ...

    def approver(self, session: Session) -> Approver: ...


class Commands(Protocol):
    """The service `command`: lines that begin with `/`."""

    async def run(self, line: str, session: Session, services: Any) -> Any:
        """Run `line`; what goes wrong is told in the result."""

    async def complete(self, line: str, cursor: int, session: Session, services: Any) -> Completion:
        """What may stand at a place of a line."""

    def names(self) -> tuple[str, ...]:
        """The commands there are."""


class Handles:
    """The services. Each name is given once; nothing can be replaced afterwards."""

    role: RoleCatalog
    model: Providers
    tool: Toolbox
    dispatch: Dispatching
    conversation: Shelf
    persistence: Database
    config: Configuration
    ui: Face
    prompt: Prompts
    command: Commands

    def __setattr__(self, name: str, value: object) -> None:
        if name not in NAMES or name in vars(self):
            raise AttributeError(f"{name} is given already, or is no service")
        super().__setattr__(name, value)

    def by_name(self) -> Mapping[str, Any]:
        """The services by name, to look at."""
        return MappingProxyType(vars(self))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} stays as it is")


NAMES = tuple(get_type_hints(Handles))
"""The names, in the order in which they are made."""
