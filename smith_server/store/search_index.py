"""What the full-text index holds of messages and memories, written with the rows themselves.

Rows that go take their index rows with them: triggers of the schema see to that.
"""

from collections.abc import Iterator
from typing import Any

import apsw
import msgspec

from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage

MOST_INDEXED = 1 << 16
"""Characters of one message or memory that can be found; what is behind them is stored all the same."""

SCOPE = "'r' || hex(root) || coalesce(' p' || hex(project_id), '')"
"""The words for the place of a conversation, out of its columns. Hexadecimal digits are one word."""


def add_message(connection: apsw.Connection, n: int, conversation: str, message: Message) -> None:
    """Index the stored message of number `n`."""
    connection.execute(
        f"INSERT INTO message_search (rowid, text, scope) SELECT ?, ?, {SCOPE} FROM conversation WHERE id = ?",
        (n, text_of(message), conversation),
    )


def change_message(connection: apsw.Connection, n: int, conversation: str, message: Message) -> None:
    """Index it anew."""
    connection.execute("DELETE FROM message_search WHERE rowid = ?", (n,))
    add_message(connection, n, conversation, message)


def change_memory(connection: apsw.Connection, n: int, name: str, text: str) -> None:
    """Index the stored memory of number `n`, for the first time or anew."""
    connection.execute("DELETE FROM memory_search WHERE rowid = ?", (n,))
    connection.execute("INSERT INTO memory_search (rowid, id, text) VALUES (?, ?, ?)", (n, name, sound(text)))


def text_of(message: Message) -> str:
    """What of a message can be found: what was said and attached, what tools were told and answered."""
    match message:
        case UserMessage(text=text, attached=attached):
            found = f"{text}\n{attached}" if attached else text
        case AssistantMessage(parts=parts):
            found = "\n".join(said for part in parts for said in _said(part))
        case ToolMessage(content=content):
            found = content
    return sound(found)


def sound(text: str) -> str:
    """`text` as far as it is indexed, with a question mark for each half of a character."""
    text = text[:MOST_INDEXED]
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _said(part: Text | Thinking | Call) -> Iterator[str]:
    match part:
        case Text(text):
            yield text
        case Call(name=name, arguments=arguments):
            yield name
            yield from _arguments(arguments)


def _arguments(text: str) -> Iterator[str]:
    """The texts inside of JSON, where a line end would otherwise stick to the word behind it."""
    try:
        yield from _texts(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        yield text


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
