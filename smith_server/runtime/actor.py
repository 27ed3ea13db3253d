"""Who takes a turn: the conversation itself, or a child that works for it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.core.conversation import Conversation
from smith_server.core.events import Envelope, Event
from smith_server.core.ports import Emit
from smith_server.policy.roles import Role
from smith_server.runtime.execution import ExecutionContext, Scope
from smith_server.runtime.room import Room

Post = Callable[[Envelope], None]


class Actor(Struct, frozen=True, eq=False):
    """One taker of a turn. `job` is "" for the conversation itself; `call` started the child, in the child
    `parent` or in the conversation; `depth` counts from 0; `room` is shared by all that take part in the turn.
    """

    conversation: str
    root: Path
    scope: Scope
    context: ExecutionContext
    role: Role
    talk: Conversation
    turn: str
    emit: Emit
    room: Room
    job: str = ""
    call: str = ""
    parent: str = ""
    depth: int = 0

    @property
    def settings(self) -> Settings:
        """The settings as they were when the turn began."""
        return self.context.settings

    def child(self, role: Role, job: str, call: str, talk: Conversation, post: Post) -> "Actor":
        """A child of this one, in the same place with the same settings; its events are tagged with its job."""

        def emit(event: Event) -> None:
            post(Envelope(self.conversation, self.turn, event, job, call, role.name, self.job))

        return msgspec.structs.replace(
            self,
            context=self.context.of_child(job, role.name),
            role=role,
            talk=talk,
            emit=emit,
            job=job,
            call=call,
            parent=self.job,
            depth=self.depth + 1,
        )
