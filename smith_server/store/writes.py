"""What can be stored of a conversation while it goes on, one struct per kind of write.

`job` is "" for the conversation itself, else the id of the child that the write belongs to.
"""

from typing import Any, Literal

from msgspec import Struct

from smith_server.core.compaction import Compaction
from smith_server.core.messages import Message, Usage
from smith_server.store.holder import Holder

TurnState = Literal["open", "completed", "cancelled", "error", "interrupted"]
PieceKind = Literal["text", "thinking"]


class OpenTurn(Struct, frozen=True):
    """A turn begins. `prompt` is what was asked, so that nothing is lost before its message is stored.

    A child's turn has the number of the turn that it works for. It says which `call` started it,
    in the child `parent` or in the conversation itself (""), its `role`, and how deep it lies (1, 2 ...).
    """

    conversation: str
    turn: str
    prompt: str
    holder: Holder
    model: str = ""
    provider: str = ""
    job: str = ""
    parent: str = ""
    call: str = ""
    role: str = ""
    depth: int = 0


class AddPiece(Struct, frozen=True):
    """More streamed text of a message that is not whole yet."""

    conversation: str
    message: str
    text: str
    kind: PieceKind = "text"
    job: str = ""


class DropPieces(Struct, frozen=True):
    """What was streamed of a message so far is void."""

    conversation: str
    message: str
    job: str = ""


class AddMessage(Struct, frozen=True):
    """A message is whole; its pieces go. One that is there already is replaced."""

    conversation: str
    message: Message
    job: str = ""


class SetUsage(Struct, frozen=True):
    """All that a turn, or a child in it, has used so far. `tail` is "parent" or the id of the child."""

    conversation: str
    turn: str
    usage: Usage
    tail: str = "parent"
    role: str = ""
    model: str = ""


class AddCompaction(Struct, frozen=True):
    """From here on less of the conversation is sent."""

    conversation: str
    record: Compaction


class CloseTurn(Struct, frozen=True):
    """A turn has ended; pieces of it that became no message go.

    `record` is kept as it is: of the conversation's own turn as JSON in the note `turn_record-TURN`.
    """

    conversation: str
    turn: str
    state: TurnState
    job: str = ""
    record: dict[str, Any] = {}


class QueuePrompt(Struct, frozen=True):
    """A prompt waits for the running turn; `record` is what else came with it."""

    conversation: str
    id: str
    text: str
    record: dict[str, Any] = {}


class EditPrompt(Struct, frozen=True):
    """A waiting prompt has another text."""

    conversation: str
    id: str
    text: str


class DropPrompt(Struct, frozen=True):
    """A waiting prompt was taken up or given up."""

    conversation: str
    id: str


Write = (
    OpenTurn
    | AddPiece
    | DropPieces
    | AddMessage
    | AddCompaction
    | SetUsage
    | CloseTurn
    | QueuePrompt
    | EditPrompt
    | DropPrompt
)
