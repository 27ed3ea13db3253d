import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.todos import Todo
from smith_server.store import conversations, todos
from tests.store.builders import TALK, rows, started

PLAN = (Todo("look \ud800", "completed"), Todo("do", "in_progress"), Todo("test", "pending"))


def test_a_list_is_kept_in_its_order_and_replaced_whole(connection: apsw.Connection) -> None:
    started(connection)
    todos.put(connection, TALK, PLAN)
    assert todos.listed(connection, TALK) == PLAN
    todos.put(connection, TALK, PLAN[1:])
    assert todos.listed(connection, TALK) == PLAN[1:]
    todos.put(connection, TALK, ())
    assert todos.listed(connection, TALK) == ()


def test_a_child_has_a_list_of_its_own_and_all_go_with_the_conversation(connection: apsw.Connection) -> None:
    started(connection)
    todos.put(connection, TALK, PLAN)
    todos.put(connection, TALK, PLAN[:1], job="k1")
    assert (todos.listed(connection, TALK), todos.listed(connection, TALK, "k1")) == (PLAN, PLAN[:1])
    conversations.delete(connection, TALK)
    assert rows(connection, "todo") == []


def test_what_is_no_conversation_has_no_list(connection: apsw.Connection) -> None:
    with pytest.raises(AgentFailure):
        todos.put(connection, "", PLAN)
    assert todos.listed(connection, "nobody") == ()
