from typing import Any

import apsw
import pytest
from hypothesis import given

from smith_server.core.errors import AgentFailure
from smith_server.store import overrides
from smith_server.store.codec import encode
from smith_server.store.overrides import Overrides
from tests.store.builders import fresh, rows
from tests.store.test_codec import shuffled, tables

TREE = {"models": {"gpt-4.1": "big"}, "context_management": {"trim_threshold_pct": 80, "enabled": False}}


def test_nothing_stored_is_an_empty_tree(connection: apsw.Connection) -> None:
    assert overrides.load(connection) == Overrides()


def test_the_last_tree_holds_and_an_empty_one_leaves_nothing(connection: apsw.Connection) -> None:
    overrides.save(connection, {"default_model": "small"})
    overrides.save(connection, TREE)
    assert overrides.load(connection) == Overrides(TREE)
    assert rows(connection, "config", "key") == [("config:runtime_overrides",)]
    overrides.save(connection, {})
    assert overrides.load(connection) == Overrides()
    assert rows(connection, "config") == []


@given(tables)
def test_equal_trees_are_stored_as_equal_bytes(tree: dict[str, Any]) -> None:
    connection = fresh()
    overrides.save(connection, tree)
    before = rows(connection, "config")
    overrides.save(connection, shuffled(tree))
    assert rows(connection, "config") == before


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (encode({"entries": [{"path": "default_model", "value": "x"}]}), "old_overrides"),
        (encode({"entries": []}), "old_overrides"),
        (b"\xc1\xff", "undecodable"),
        (b"\x93\x01\x02\x03", "undecodable"),
    ],
    ids=["early form", "early form without entries", "no record", "a list"],
)
def test_what_cannot_be_used_is_left_alone_and_told(connection: apsw.Connection, record: bytes, code: str) -> None:
    connection.execute("INSERT INTO config VALUES ('config:runtime_overrides', ?)", (record,))
    found = overrides.load(connection)
    assert found.tree == {}
    assert found.warning is not None and (found.warning.kind, found.warning.code) == ("persistence", code)
    assert rows(connection, "config", "record") == [(record,)]
    overrides.save(connection, TREE)
    assert overrides.load(connection) == Overrides(TREE)


def test_a_tree_with_what_is_no_data_is_refused_and_the_last_one_stays(connection: apsw.Connection) -> None:
    overrides.save(connection, TREE)
    with pytest.raises(AgentFailure) as raised:
        overrides.save(connection, {"default_model": object()})
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_record")
    assert overrides.load(connection) == Overrides(TREE)
