"""The frozen context of one turn: everything that the loop is handed, nothing it could look up."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Editor
from smith_server.core.ports import Approver, Inbox, Policy, Provider, Stored, View
from smith_server.core.tool import Tool

SaveBeforeRun = Literal["agent", "ask", "never"]


async def nothing_to_adopt(path: Path) -> None:
    """For turns that know nothing of files."""


class TurnInput(Struct, frozen=True):
    """What one turn runs with.

    `max_requests` bounds the requests of one prompt. `mask` blanks secrets in any text that is
    stored, shown or sent. `save_before_run` says which buffers are written before a command; what an
    editor's own hooks made of a text while it was saved for us is `adopt`ed as an own edit.
    """

    provider: Provider
    view: View
    tools: Mapping[str, Tool]
    policy: Policy
    approver: Approver
    editor: Editor
    inbox: Inbox
    stored: Stored
    token: CancelToken
    cwd: Path
    mask: Callable[[str], str] = str
    adopt: Callable[[Path], Awaitable[object]] = nothing_to_adopt
    max_requests: int = 500
    save_before_run: SaveBeforeRun = "agent"
