"""`todo_write`: the plan of the work, whole, for the person to follow."""

from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.ports import Todos
from smith_server.core.todos import Status, Todo, counted
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.text import text_of


class TodoItem(Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(pattern=r"\S", max_length=1000)]
    status: Status


class TodoWriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[tuple[TodoItem, ...], Meta(max_length=200)]


class TodoWrite:
    """Writes the list of one actor."""

    name = "todo_write"
    effect = Effect.TALK
    args = TodoWriteArguments
    text = text_of(__file__)

    def __init__(self, todos: Todos) -> None:
        self._todos = todos

    async def preview(self, args: TodoWriteArguments, context: ToolContext) -> Preview:
        return Preview(counted([Todo(each.content, each.status) for each in args.todos]))

    async def run(self, args: TodoWriteArguments, context: ToolContext) -> ToolResult:
        """Replace the list. Raises `several_in_progress`: then it stays as it was."""
        todos = [Todo(" ".join(each.content.split()), each.status) for each in args.todos]
        if sum(todo.status == "in_progress" for todo in todos) > 1:
            raise ToolRefusal(
                "several_in_progress", "Only one item may be in progress. The list was not changed: write it again."
            )
        await self._todos.put(todos)
        return ToolResult(counted(todos), counted(todos))
