"""The roles: who they are, what they are told and whom they may send. What they may use is in `matrix`."""

from collections.abc import Sequence

from msgspec import Struct

from smith_server.core.errors import failure

DEFAULT_ROLE = "direct"


class Role(Struct, frozen=True):
    """One role.

    `alias` is its name for people, `about` a sentence for them, `prompt_profile` names its text,
    `model_key` its entry in the `models` setting. A person talks to `user_facing` ones only; the
    others are sent by another role and end by a report. `model` is set when the role has its own.
    """

    name: str
    alias: str
    prompt_profile: str
    user_facing: bool = False
    dispatch_targets: tuple[str, ...] = ()
    model_key: str = "default"
    model: str = ""
    like: str = ""
    about: str = ""

    @property
    def row(self) -> str:
        """The name under which the tables know the role."""
        return self.like or self.name


ROLES = (
    Role(
        "direct",
        "Smith",
        "direct",
        user_facing=True,
        dispatch_targets=("worker", "explorer"),
        about="does the work itself, and may send others",
    ),
    Role(
        "orchestrator",
        "Tank",
        "orchestrator",
        user_facing=True,
        dispatch_targets=("worker", "explorer"),
        about="plans, sends workers and explorers, changes nothing itself",
    ),
    Role("worker", "Niobe", "worker", dispatch_targets=("explorer",), about="does one task and reports"),
    Role("explorer", "Link", "explorer", about="looks into one question and reports"),
)
"""All roles, in the order in which they are shown."""


def resolve_role(name: str, roles: Sequence[Role] = ROLES) -> Role:
    """The role of that name. Raises a `policy` failure `unknown_role` that names those there are."""
    for role in roles:
        if role.name == name:
            return role
    known = ", ".join(role.name for role in roles)
    raise failure("policy", "unknown_role", f"There is no role {name!r}. The roles are: {known}.")


def active_role(asked: str, configured: str, roles: Sequence[Role] = ROLES) -> Role:
    """The role of a turn: what was asked for with it, else what is configured, else `direct`."""
    return resolve_role(asked or configured or DEFAULT_ROLE, roles)


class RoleCatalog(Struct, frozen=True):
    """The service `role`: the roles that there are, in the order in which they are shown."""

    roles: tuple[Role, ...] = ROLES

    def resolve(self, name: str) -> Role:
        """The role of that name. Raises a `policy` failure `unknown_role`."""
        return resolve_role(name, self.roles)

    def active(self, asked: str, configured: str) -> Role:
        """The role of a turn; see `active_role`."""
        return active_role(asked, configured, self.roles)

    def user_facing(self) -> tuple[str, ...]:
        """The names of those that a person talks to."""
        return tuple(role.name for role in self.roles if role.user_facing)
