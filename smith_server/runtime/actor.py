"""Who takes a turn: the conversation itself, or a child that works for it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from smith_server.core.conversation import Conversation
from smith_server.core.events import Envelope, Event
from smith_server.core.ports import Emit
from smith_server.policy.roles import Role

Post = Callable[[Envelope], None]


class Actor(Struct, frozen=True, eq=False):
    """One taker of a turn. `job` is "" for the conversation itself; `call` started the child, in the child
    `parent` or in the conversation; `depth` counts from 0.
    """

    conversation: str
    root: Path
    cwd: Path
    role: Role
    talk: Conversation
    turn: str
    emit: Emit
    job: str = ""
    call: str = ""
    parent: str = ""
    depth: int = 0

    def child(self, role: Role, job: str, call: str, talk: Conversation, post: Post) -> "Actor":
        """A child of this one; its events are tagged with its job."""

        def emit(event: Event) -> None:
            post(Envelope(self.conversation, self.turn, event, job, call, role.name, self.job))

        return Actor(
            self.conversation,
            self.root,
            self.cwd,
            role,
            talk,
            self.turn,
            emit,
            job,
            call,
            self.job,
            self.depth + 1,
        )
