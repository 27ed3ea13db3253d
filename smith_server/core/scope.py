"""The frozen context of one turn: everything that the loop is handed, nothing it could look up."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from smith_server.core.account import Meter
from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Editor
from smith_server.core.ports import Approver, Inbox, Policy, Provider, Retries, Stored, View
from smith_server.core.tool import Tool

SaveBeforeRun = Literal["agent", "ask", "never"]


async def nothing_to_adopt(path: Path) -> None:
    """For turns that know nothing of files."""


async def same(turn: "TurnInput") -> "TurnInput":
    """For turns whose model nobody changes."""
    return turn


class TurnInput(Struct, frozen=True):
    """What one turn runs with.

    `budget` bounds it, `retries` decides about requests that failed. `mask` blanks secrets in any text that is
    stored, shown or sent. `save_before_run` says which buffers are written before a command; what an
    editor's own hooks made of a text while it was saved for us is `adopt`ed as an own edit. `meter` counts what
    requests cost. `renewed` is the input of the next request, another one when the model was changed meanwhile.
    """

    provider: Provider
    view: View
    tools: Mapping[str, Tool]
    policy: Policy
    approver: Approver
    editor: Editor
    inbox: Inbox
    retries: Retries
    stored: Stored
    token: CancelToken
    cwd: Path
    mask: Callable[[str], str] = str
    adopt: Callable[[Path], Awaitable[object]] = nothing_to_adopt
    budget: Budget = Budget(max_requests=500)
    meter: Meter = field(default_factory=Meter)
    renewed: Callable[["TurnInput"], Awaitable["TurnInput"]] = same
    save_before_run: SaveBeforeRun = "agent"
