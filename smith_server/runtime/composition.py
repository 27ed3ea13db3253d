"""Where the ten services are made: each by its factory, out of its own options, unless it was handed in."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.config import secrets
from smith_server.policy.roles import RoleCatalog
from smith_server.runtime.commands.router import Router
from smith_server.runtime.configuration import Configuration
from smith_server.runtime.conversations import Shelf
from smith_server.runtime.dispatch import Dispatching
from smith_server.runtime.handles import NAMES, Face, Handles
from smith_server.runtime.options import Options
from smith_server.runtime.prompts import Prompts
from smith_server.runtime.providers import Providers
from smith_server.runtime.services import Services
from smith_server.runtime.toolbox import Toolbox
from smith_server.store.db import Database
from smith_server.store.holder import Holder, this_process


class Making(Struct, frozen=True):
    """What a factory goes by: how the process was started, its face, the services made before, its own options.

    `options` are the table `services.<name>` of the person's settings.
    """

    started: Options
    face: Face
    holder: Holder
    made: Handles
    options: Mapping[str, Any] = {}


Factory = Callable[[Making], Awaitable[Any]]


async def compose(options: Options, face: Face, factories: Mapping[str, Factory] | None = None) -> Services:
    """Make all services and open them; the caller closes what it gets.

    A service in `options.service_handles` is taken as it is and its factory not called. Raises `AgentFailure` for
    a store that must not be touched (newer, locked) and for a named settings file that is not there.
    """
    making = Making(options, face, this_process(), Handles())
    for name, factory in (factories or FACTORIES).items():
        own = {"options": _options(making.made, name)}
        handed = options.service_handles.get(name)
        made = handed if handed is not None else await factory(msgspec.structs.replace(making, **own))
        setattr(making.made, name, made)
    await making.made.config.open(making.made.persistence)
    services = Services(options, making.made, making.holder)
    services.start()
    return services


def _options(made: Handles, name: str) -> Mapping[str, Any]:
    """The options of a service; what is needed to read them has none."""
    if not hasattr(made, "config"):
        return {}
    found: Mapping[str, Any] = made.config.own.set_tree.get("services", {})
    own: Mapping[str, Any] = found.get(name, {})
    return own


async def _config(making: Making) -> Configuration:
    return Configuration(making.started)


async def _persistence(making: Making) -> Database:
    return await Database.open(making.started.places.database)


async def _role(making: Making) -> RoleCatalog:
    return RoleCatalog()


async def _model(making: Making) -> Providers:
    return Providers(making.started)


async def _tool(making: Making) -> Toolbox:
    own = making.made.config.own.settings
    hidden = set(secrets.variables_of(own)).difference(own.bash.allowed_keys)
    return Toolbox(hidden, making.started.places.jobs, making.started.places.cache_folder)


async def _dispatch(making: Making) -> Dispatching:
    return Dispatching()


async def _conversation(making: Making) -> Shelf:
    return Shelf(making.made.persistence, making.holder, making.face.name)


async def _ui(making: Making) -> Face:
    return making.face


async def _prompt(making: Making) -> Prompts:
    return Prompts()


async def _command(making: Making) -> Router:
    return Router()


FACTORIES: Mapping[str, Factory] = {
    "config": _config,
    "persistence": _persistence,
    "role": _role,
    "model": _model,
    "tool": _tool,
    "dispatch": _dispatch,
    "conversation": _conversation,
    "ui": _ui,
    "prompt": _prompt,
    "command": _command,
}
"""In the order in which they are made: what a service needs comes before it."""

assert set(FACTORIES) == set(NAMES)
