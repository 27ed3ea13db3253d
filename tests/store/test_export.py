import json
from typing import Any

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import ToolMessage, Usage
from smith_server.store import notes, turns
from smith_server.store.codec import encode_json
from smith_server.store.export import export
from smith_server.store.writes import AddMessage, CloseTurn, OpenTurn, SetUsage, Write
from tests.store.builders import GONE, TALK, started, user


def exported(connection: apsw.Connection) -> list[dict[str, Any]]:
    return [json.loads(encode_json(record)) for record in export(connection, TALK)]


def test_all_that_is_stored_of_a_conversation_is_told_in_lines_of_json(connection: apsw.Connection) -> None:
    started(connection)
    started(connection, "talk2")
    writes: list[Write] = [
        OpenTurn(TALK, "t000001", "go \ud800", GONE, "m", "p"),
        AddMessage(TALK, user(1, text="go \ud800")),
        AddMessage(TALK, ToolMessage("t000001.0002", "c", "bash", "x" * 10**5)),
        OpenTurn(TALK, "t000001", "look", GONE, job="j1", call="c", role="worker", depth=1),
        AddMessage(TALK, user(1, text="look"), "j1"),
        CloseTurn(TALK, "t000001", "completed", "j1"),
        SetUsage(TALK, "t000001", Usage(1, 2, 3, 4, 5), model="m"),
        SetUsage(TALK, "t000001", Usage(5, 4, 3, 2, 1), "j1", "worker", "m"),
        CloseTurn(TALK, "t000001", "completed", record={"stop_reason": "completed"}),
        AddMessage("talk2", user(1)),
    ]
    turns.apply(connection, writes, now=5.0)
    notes.put(connection, TALK, "scratchpad:a:b", "text", now=6.0)
    told = exported(connection)
    assert [(line["kind"], line["key"], line.get("job")) for line in told] == [
        ("conversation", TALK, None),
        ("turn", "talk:t000001", None),
        ("message", "talk:t000001:0001", None),
        ("message", "talk:t000001:0002", None),
        ("message", "talk:t000001:0001", "j1"),
        ("job", "talk:t000001:j1", None),
        ("note", "talk:scratchpad:a:b", None),
        ("note", "talk:turn_record-t000001", None),
        ("usage", "talk:t000001:parent", None),
        ("usage", "talk:t000001:j1", None),
    ]
    assert told[0]["record"]["message_count"] == 2
    assert told[1]["record"] == {
        "state": "completed",
        "prompt": "go \ud800",
        "model": "m",
        "provider": "p",
        "started": 5.0,
        "ended": 5.0,
    }
    assert told[2] == {
        "kind": "message",
        "key": "talk:t000001:0001",
        "record": {"type": "user", "id": "t000001.0001", "text": "go \ud800"},
        "created": 5.0,
    }
    assert told[7]["record"] == {"text": '{"stop_reason":"completed"}', "updated": 5.0}
    tokens = {"input": 5, "cache_write": 4, "cache_read": 3, "output": 2, "requests": 1}
    assert told[9]["record"]["usage"] == {**tokens, "cost": 0.0, "unpriced": 0}


def test_a_message_that_cannot_be_read_is_told_and_the_others_follow(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, user(1)), AddMessage(TALK, user(2))])
    connection.execute("UPDATE message SET record = x'c1' WHERE turn = 1")
    assert [line["kind"] for line in exported(connection)] == ["conversation", "unreadable", "message"]


def test_a_conversation_that_is_not_there_cannot_be_exported(connection: apsw.Connection) -> None:
    with pytest.raises(AgentFailure) as raised:
        exported(connection)
    assert (raised.value.error.kind, raised.value.error.code) == ("schema", "not_found")
