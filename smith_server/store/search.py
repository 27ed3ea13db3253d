"""Messages and memories by their words: what a person types is looked for as it stands."""

import heapq
import re
import unicodedata
from collections.abc import Iterator, Sequence

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure
from smith_server.store.codec import decode_message, text_in, text_out
from smith_server.store.excerpt import Excerpt, Wanted, excerpt, words_in
from smith_server.store.keys import message_id, turn_id
from smith_server.store.search_index import add_message, change_memory, sound, text_of
from smith_server.store.transaction import transaction

MOST_RANKED = 5000
"""Of more messages than these that fit, the newest are ranked."""

COMMON = 20_000
"""A word in so many messages says little of any of them, and weighing it takes long: it is left out of the ranks."""

_SHORTEST_BEGINNING = 3
_MOST_TERMS = 32
_LONGEST_QUERY = 2000
_TERM = re.compile(r'"([^"]*)"|([^\s"]+)')
_FITTING = "SELECT rowid FROM message_search WHERE message_search MATCH ? ORDER BY rowid DESC LIMIT ?"
# The sign has the index read once, and not once for each number.
_RANKED = (
    "SELECT rowid, bm25(message_search, 1.0, 0.0) FROM message_search WHERE message_search MATCH ?"
    f" AND +rowid IN ({_FITTING})"
)
_MESSAGE = (
    "SELECT conversation, job, turn, seq, kind, record, message.created, title, root FROM message"
    " JOIN conversation ON conversation.id = conversation WHERE n = ?"
)
_MEMORIES = (
    "SELECT project, memory.id, memory.text, bm25(memory_search, 2.0, 1.0) AS score FROM memory_search"
    " JOIN memory ON n = memory_search.rowid WHERE memory_search MATCH ? AND (?2 IS NULL OR project = ?2)"
    " ORDER BY score, n DESC LIMIT ?3"
)


class MessageHit(Struct, frozen=True):
    """A message that fits; `job` is the child whose message it is. A better one has a higher `score`."""

    conversation: str
    turn: str
    message: str
    job: str
    kind: str
    title: str
    root: str
    created: float
    score: float
    excerpt: Excerpt


class MemoryHit(Struct, frozen=True):
    """A memory that fits."""

    project: str
    id: str
    score: float
    excerpt: Excerpt


class Found(Struct, frozen=True):
    """What fits a query, the best first."""

    messages: tuple[MessageHit, ...] = ()
    memories: tuple[MemoryHit, ...] = ()


class _Query(Struct, frozen=True):
    terms: tuple[str, ...]
    wanted: Wanted


def search(
    connection: apsw.Connection, query: str, project: str | None = None, root: str | None = None, *, limit: int = 20
) -> Found:
    """The messages and the memories that hold every word of `query`, up to `limit` of each.

    The best come first, of equals the newest; of words that nearly all hold, the newest alone.

    The last word may go on, unless it is a common one; words in quotes have to stand together.
    `project` and `root` narrow it to conversations of that project id or begun in that root (either,
    when both are given), and to the memories of that project. No query is an error: one without a
    word finds nothing.
    """
    asked = _asked(query)
    if asked is None:
        return Found()
    asked = _without_needless_beginning(connection, asked)
    memories = () if root is not None and project is None else tuple(_memories(connection, asked, project, limit))
    return Found(tuple(_messages(connection, asked, _scope(project, root), limit)), memories)


def rebuild_message_search_index(connection: apsw.Connection) -> int:
    """Make the index of messages anew out of the messages; how many it holds then.

    One that cannot be read is left out.
    """
    count = 0
    with transaction(connection):
        connection.execute("INSERT INTO message_search (message_search) VALUES ('delete-all')")
        for n, conversation, record in connection.execute("SELECT n, conversation, record FROM message ORDER BY n"):
            try:
                message = decode_message(record)
            except AgentFailure:
                continue
            add_message(connection, n, conversation, message)
            count += 1
    return count


def rebuild_search_index(connection: apsw.Connection) -> int:
    """Make the index of memories anew out of the memories; how many it holds then."""
    with transaction(connection):
        connection.execute("INSERT INTO memory_search (memory_search) VALUES ('delete-all')")
        rows = list(connection.execute("SELECT n, id, text FROM memory"))
        for n, name, text in rows:
            change_memory(connection, n, name, text_out(text))
    return len(rows)


def _messages(connection: apsw.Connection, asked: _Query, scope: str, limit: int) -> Iterator[MessageHit]:
    for n, score in _best(connection, asked.terms, scope, limit):
        for name, job, turn, seq, kind, record, created, title, root in connection.execute(_MESSAGE, (n,)):
            yield MessageHit(
                *(name, turn_id(turn), message_id(turn, seq), job, kind),
                *(text_out(title), text_out(root), created, score),
                _shown(record, asked.wanted),
            )


def _best(connection: apsw.Connection, terms: Sequence[str], scope: str, limit: int) -> list[tuple[int, float]]:
    """The numbers of the best messages that hold all terms, each with its score."""
    fitting = _expression(terms) + scope
    telling = [term for term in terms if not _is_common(connection, term)]
    if not telling:
        return [(n, 0.0) for (n,) in connection.execute(_FITTING, (fitting, limit))]
    ranked = connection.execute(_RANKED, (_expression(telling), fitting, MOST_RANKED))
    return heapq.nlargest(limit, ((n, -score) for n, score in ranked), key=lambda found: (found[1], found[0]))


def _without_needless_beginning(connection: apsw.Connection, asked: _Query) -> _Query:
    """A last word that is in so many messages itself is whole; all that begins with it takes long to put together."""
    word = asked.terms[-1].removesuffix("*")
    if not asked.wanted.beginning or not _is_common(connection, word):
        return asked
    return _Query((*asked.terms[:-1], word), Wanted(asked.wanted.words))


def _is_common(connection: apsw.Connection, term: str) -> bool:
    query = "SELECT 1 FROM message_search WHERE message_search MATCH ? LIMIT 1 OFFSET ?"
    return connection.execute(query, (_expression([term]), COMMON)).get is not None


def _expression(terms: Sequence[str]) -> str:
    return f"{{text}} : ({' AND '.join(terms)})"


def _memories(connection: apsw.Connection, asked: _Query, project: str | None, limit: int) -> Iterator[MemoryHit]:
    for owner, name, text, score in connection.execute(
        _MEMORIES, (" AND ".join(asked.terms), None if project is None else text_in(project), limit)
    ):
        yield MemoryHit(owner, name, -score, excerpt(sound(text_out(text)), asked.wanted))


def _shown(record: bytes, wanted: Wanted) -> Excerpt:
    try:
        return excerpt(text_of(decode_message(record)), wanted)
    except AgentFailure:
        return Excerpt("")


def _asked(query: str) -> _Query | None:
    """The query in the words of the index, where quotes take the meaning from everything else."""
    text = sound(query.replace("\0", " ")[:_LONGEST_QUERY])
    found = list(_TERM.finditer(text))
    terms = [term for match in found if _has_word(term := match[1] or match[2] or "")][:_MOST_TERMS]
    if not terms:
        return None
    words = words_in(" ".join(terms))
    goes_on = bool(found[-1][2]) and found[-1].end() == len(text) and found[-1][2] == terms[-1]
    beginning = words[-1] if goes_on and words and _may_go_on(words[-1]) else ""
    *first, last = (f'"{term}"' for term in terms)
    return _Query((*first, f"{last}*" if beginning else last), Wanted(frozenset(words), beginning))


def _may_go_on(word: str) -> bool:
    """Two letters begin too many words; in a script without blanks they may be one."""
    return len(word) >= _SHORTEST_BEGINNING or not word.isascii()


def _has_word(text: str) -> bool:
    """Whether the index sees a word in it: an expression without one would fit nothing."""
    return any(char.isalnum() or unicodedata.category(char) == "Co" for char in text)


def _scope(project: str | None, root: str | None) -> str:
    places = ((letter, place) for letter, place in (("p", project), ("r", root)) if place is not None)
    words = [f'"{letter}{place.encode("utf-8", "surrogatepass").hex()}"' for letter, place in places]
    return f" AND {{scope}} : ({' OR '.join(words)})" if words else ""
