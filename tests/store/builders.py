"""Made-up conversations as lists of writes, and looks at what is stored of them."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import apsw

from smith_server.core.conversation import Conversation
from smith_server.core.messages import AssistantMessage, Call, Text, ToolMessage, Usage, UserMessage
from smith_server.store import conversations, search, turns
from smith_server.store.conversations import Header
from smith_server.store.holder import Holder
from smith_server.store.opening import Place, open_store
from smith_server.store.writes import AddMessage, AddPiece, CloseTurn, OpenTurn, SetUsage, Write

TALK = "talk"
TABLES = ("conversation", "turn", "message", "piece", "prompt", "usage", "lease", "pointer", "note")
GONE = Holder(os.uname().nodename, 999_999_999, "long ago")


def fresh() -> apsw.Connection:
    """A store in memory, made faster than by its migrations."""
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", _empty())
    connection.pragma("foreign_keys", True)
    return connection


@cache
def _empty() -> bytes:
    return open_store(Place(None)).connection.serialize("main")


def started(connection: apsw.Connection, name: str = TALK, root: str = "/project") -> None:
    conversations.create(connection, Header(name, root), now=1.0)


def user(turn: int, seq: int = 1, text: str = "please") -> UserMessage:
    return UserMessage(f"t{turn:06d}.{seq:04d}", text)


def batches_of_turn(number: int, holder: Holder = GONE, talk: str = TALK) -> list[list[Write]]:
    """What one turn with a reply, two calls and a closing reply stores, commit by commit."""
    turn = f"t{number:06d}"
    calls = tuple(Call(f"call-{number}-{n}", "bash", '{"command": "true"}') for n in (1, 2))
    asked, answered = f"{turn}.0002", f"{turn}.0005"
    return [
        [OpenTurn(talk, turn, f"prompt {number}", holder, "m", "p"), AddMessage(talk, user(number))],
        [AddPiece(talk, asked, "let me think", "thinking")],
        [AddPiece(talk, asked, f"I look at {number}")],
        [AddPiece(talk, asked, " now.")],
        [
            AddMessage(talk, AssistantMessage(asked, (Text(f"I look at {number} now."), *calls), "m", "tool_use")),
            SetUsage(talk, turn, Usage(10, 0, 0, 5, 1), model="m"),
        ],
        [AddMessage(talk, ToolMessage(f"{turn}.0003", calls[0].id, "bash", "done"))],
        [AddMessage(talk, ToolMessage(f"{turn}.0004", calls[1].id, "bash", "done"))],
        [AddPiece(talk, answered, f"All of {number} ")],
        [AddPiece(talk, answered, "is done.")],
        [
            AddMessage(talk, AssistantMessage(answered, (Text(f"All of {number} is done."),), "m")),
            SetUsage(talk, turn, Usage(25, 0, 0, 9, 2), model="m"),
            CloseTurn(talk, turn, "completed"),
        ],
    ]


def stored(connection: apsw.Connection, batches: Iterable[Iterable[Write]]) -> None:
    for batch in batches:
        turns.apply(connection, batch, now=1.0)


def rows(connection: apsw.Connection, table: str, columns: str = "*") -> list[Any]:
    return list(connection.execute(f"SELECT {columns} FROM {table}"))


def everything(connection: apsw.Connection) -> dict[str, list[Any]]:
    """All rows that do not differ from one process to another."""
    who = "parent, call, role, depth, place"
    own = {"turn": f"conversation, job, turn, state, prompt, model, provider, record, {who}", "lease": "conversation"}
    return {table: rows(connection, table, own.get(table, "*")) for table in TABLES}


def indexed(connection: apsw.Connection) -> dict[str, list[Any]]:
    """Every word of the full-text indexes with the row, column and place where it stands."""
    found = {}
    for table in ("message_search", "memory_search"):
        connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, {table}, instance)")
        found[table] = sorted(rows(connection, "temp.words", "term, doc, col, offset"))
        connection.execute("DROP TABLE temp.words")
    return found


def is_index_as_rebuilt(connection: apsw.Connection) -> bool:
    """Whether the full-text indexes are what they would be if they were made out of the rows now."""
    before = indexed(connection)
    search.rebuild_message_search_index(connection)
    search.rebuild_search_index(connection)
    return indexed(connection) == before


def replayed(connection: apsw.Connection, talk: str = TALK, job: str = "") -> Conversation:
    """The stored messages through the rules of a conversation, which raises where they are broken."""
    conversation = Conversation()
    for message in conversations.load(connection, talk, job).messages:
        conversation.add(message)
    return conversation


def said(conversation: Conversation) -> str:
    return "\n".join(message.text for message in conversation.messages if isinstance(message, AssistantMessage))


@contextmanager
def without_root() -> Iterator[None]:
    """Permissions count for nothing while the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
