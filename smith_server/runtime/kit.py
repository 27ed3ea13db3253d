"""The tools of one who takes a turn, and what they are made of."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from smith_server.config import secrets
from smith_server.config.schema import Settings
from smith_server.core.late import late
from smith_server.core.report import ReportKind
from smith_server.core.tool import Tool
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.dispatch import Prepare
from smith_server.runtime.execution import Scope
from smith_server.runtime.handles import Handles
from smith_server.runtime.kept import Kept
from smith_server.runtime.repositories import ProjectMemory, Scratchpad, Todos
from smith_server.runtime.session import Session
from smith_server.runtime.web import web
from smith_server.tools.exploring import Around
from smith_server.tools.limits import Limits
from smith_server.tools.registry import Parts, Shell

if TYPE_CHECKING:
    from smith_server.proc.jobs import Owner
    from smith_server.runtime.jobs import Mask
    from smith_server.tools.bash import Bash
    from smith_server.workspace.texts import Texts

_owner_of: "Callable[..., Owner]" = late("smith_server.runtime.jobs:owner_of")
_bash: "Callable[..., Bash]" = late("smith_server.tools.bash:Bash")


class Kit:
    """Makes tools out of the services."""

    def __init__(self, handles: Handles, environ: Mapping[str, str], post: Post) -> None:
        self._handles = handles
        self._environ = environ
        self._post = post

    def tools(
        self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]", shell: Shell, prepare: Prepare
    ) -> Mapping[str, Tool]:
        """The tools of `actor` by name; `prepare` makes the input of a child that it sends."""
        handles = self._handles
        scratchpad = Scratchpad(handles.persistence, actor.conversation)
        return handles.tool.tools(
            Parts(
                texts,
                self._around(actor, kept, texts),
                shell,
                web(actor.settings, self._environ, handles.tool.wire),
                scratchpad,
                self.memory(actor.scope),
                handles.dispatch.children(actor, prepare, self._post, scratchpad),
                Todos(handles.persistence, actor.conversation, actor.job, actor.emit),
                cast(ReportKind, actor.role.row) if actor.job else None,
            )
        )

    def memory(self, scope: Scope) -> ProjectMemory | None:
        """What the project of a place remembers; None without a project that has an identity."""
        return ProjectMemory(self._handles.persistence, scope.project_id) if scope.project_id else None

    def shell(self, actor: Actor, note: Callable[[str], None], mask: "Mask") -> Shell:
        """What the commands of `actor` are run with; `note` tells the model of one that has ended by itself."""
        owner = partial(_owner_of, actor.job, actor.emit, note, mask)
        return Shell(partial(self._handles.tool.jobs, actor.conversation), owner, _limits(actor.settings))

    def shell_of_person(self, session: Session) -> "Bash":
        """Commands of the person: jobs of the conversation, of which the model is told nothing."""
        settings = self._handles.config.settings(session.root)
        mask = secrets.mask(self._environ, secrets.variables_of(settings))
        owner = _owner_of("user", session.emit, lambda text: None, mask)
        return _bash(self._handles.tool.jobs(session.id), owner, _limits(settings))

    def _around(self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]") -> Around:
        tool, home = self._handles.tool, Path(self._environ.get("HOME", "/"))
        deny = actor.settings.approval.deny
        return Around(tool.lookout, kept.editor, deny, actor.root, home, lambda: tuple(texts().created), tool.known)


def _limits(settings: Settings) -> Limits:
    bash = settings.bash
    return Limits(bash.timeout, bash.max_background_jobs, bash.max_output_bytes)
