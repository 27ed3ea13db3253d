"""The plans of a conversation and of its children, each as one list that is replaced whole.

`job` is "" for the conversation itself.
"""

from collections.abc import Sequence

import apsw

from smith_server.core.todos import Todo
from smith_server.store.codec import text_in, text_out
from smith_server.store.keys import checked
from smith_server.store.transaction import transaction


def put(connection: apsw.Connection, conversation: str, todos: Sequence[Todo], job: str = "") -> None:
    """Write the list over the one that was there. Raises persistence/`invalid_key`."""
    rows = [(checked(conversation), job, n, text_in(todo.content), todo.status) for n, todo in enumerate(todos)]
    with transaction(connection):
        connection.execute("DELETE FROM todo WHERE conversation = ? AND job = ?", (conversation, job))
        connection.executemany("INSERT INTO todo VALUES (?, ?, ?, ?, ?)", rows)


def listed(connection: apsw.Connection, conversation: str, job: str = "") -> tuple[Todo, ...]:
    """The list as it was written, empty when there is none."""
    query = "SELECT content, status FROM todo WHERE conversation = ? AND job = ? ORDER BY n"
    return tuple(
        Todo(text_out(content), status) for content, status in connection.execute(query, (text_in(conversation), job))
    )
