"""The plan of whoever takes a turn: what is to do, what is being done, what is done."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Status = Literal["pending", "in_progress", "completed"]

_BOXES = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Todo(Struct, frozen=True):
    """One step of a plan."""

    content: str
    status: Status


def in_words(todos: Sequence[Todo]) -> str:
    """A plan as lines for a person."""
    return "\n".join(f"{_BOXES[todo.status]} {todo.content}" for todo in todos) or "Nothing is planned."


def counted(todos: Sequence[Todo]) -> str:
    """How many steps are in which state."""
    if not todos:
        return "the list is empty"
    states = [(status, sum(todo.status == status for todo in todos)) for status in _BOXES]
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in states if count)
