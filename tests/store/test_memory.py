import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store import memory
from smith_server.store.memory import Memory
from tests.store.builders import is_index_as_rebuilt, rows


def test_a_memory_is_written_changed_and_forgotten(connection: apsw.Connection) -> None:
    assert memory.upsert(connection, "p1", "style: tabs", "Use tabs", now=5.0)
    assert not memory.upsert(connection, "p1", "style: tabs", "Use \ud800 blanks", now=9.0)
    assert memory.get(connection, "p1", "style: tabs") == "Use \ud800 blanks"
    assert rows(connection, "memory", "project, id, created, updated") == [("p1", "style: tabs", 5.0, 9.0)]
    assert memory.delete(connection, "p1", "style: tabs")
    assert not memory.delete(connection, "p1", "style: tabs")
    assert memory.get(connection, "p1", "style: tabs") is None
    assert is_index_as_rebuilt(connection)


def test_the_list_has_a_label_for_each_in_the_order_of_their_ids(connection: apsw.Connection) -> None:
    memory.upsert(connection, "p1", "b", "\n\n   second   \nmore")
    memory.upsert(connection, "p1", "a", "x" * 81)
    memory.upsert(connection, "p1", "c", "y" * 80)
    memory.upsert(connection, "p1", "d", " \n ")
    assert memory.listed(connection, "p1") == (
        Memory("a", "x" * 79 + "…"),
        Memory("b", "second"),
        Memory("c", "y" * 80),
        Memory("d", ""),
    )


def test_projects_do_not_see_the_memories_of_each_other(connection: apsw.Connection) -> None:
    for project in ("p1", "p10", "p_"):
        memory.upsert(connection, project, "x", project)
    memory.delete(connection, "p_", "x")
    assert [len(memory.listed(connection, project)) for project in ("p1", "p10", "p_", "%")] == [1, 1, 0, 0]
    assert memory.get(connection, "p1", "x") == "p1"


@pytest.mark.parametrize(("project", "name"), [("", "x"), ("a:b", "x"), ("p1", ""), ("p1", "\ud800")])
def test_a_memory_that_cannot_have_a_key_is_refused(connection: apsw.Connection, project: str, name: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        memory.upsert(connection, project, name, "text")
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")
    assert rows(connection, "memory") == []
