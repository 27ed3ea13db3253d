"""Turns that a dead process left open are closed, so that their conversation can go on."""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Message,
    Part,
    Text,
    Thinking,
    ToolMessage,
    UserMessage,
    joined_text,
)
from smith_server.store.codec import decode_message, text_out
from smith_server.store.holder import Holder, is_living
from smith_server.store.keys import message_id, turn_id
from smith_server.store.lease import Lease, held
from smith_server.store.pairing import no_result
from smith_server.store.transaction import transaction
from smith_server.store.turns import apply
from smith_server.store.writes import AddMessage, CloseTurn

_OPEN = (
    "SELECT job, turn, host, pid, start, prompt, model FROM turn WHERE conversation = ? AND state = 'open'"
    " ORDER BY job, turn"
)
_Numbered = dict[int, Message]


class _OpenTurn(Struct, frozen=True):
    conversation: str
    job: str
    turn: int
    prompt: str
    model: str

    @property
    def key(self) -> tuple[str, str, int]:
        return self.conversation, self.job, self.turn


def repair(connection: apsw.Connection, conversation: str, *, now: float | None = None) -> tuple[str, ...]:
    """Close what dead processes left open in a conversation; the ids of its own turns among it.

    Streamed text becomes a message, a call without a result gets one that says so, a prompt whose
    message was not stored yet gets it. Turns of living processes are left alone, unless another one
    has the lease by now. Doing it again changes nothing.
    """
    if not _left_open(connection, conversation):
        return ()
    moment = time.time() if now is None else now
    with transaction(connection, full_sync=True):
        turns = _left_open(connection, conversation)
        for turn in turns:
            _close(connection, turn, moment)
    return tuple(turn_id(turn.turn) for turn in turns if not turn.job)


def _left_open(connection: apsw.Connection, conversation: str) -> list[_OpenTurn]:
    found = list(connection.execute(_OPEN, (conversation,)))
    owner = held(connection, conversation) if found else None
    return [
        _OpenTurn(conversation, job, turn, text_out(prompt), model)
        for job, turn, host, pid, start, prompt, model in found
        if not _is_in_hand(Holder(host, pid, start), owner)
    ]


def _is_in_hand(holder: Holder, owner: Lease | None) -> bool:
    """Whether the process that opened a turn can still write to it."""
    return is_living(holder) and (owner is None or owner.holder == holder)


def _close(connection: apsw.Connection, turn: _OpenTurn, now: float) -> None:
    stored, taken = _messages(connection, turn)
    added = _missing_prompt(turn, stored, taken) | _partial(connection, turn, taken)
    taken |= added.keys()
    added |= _missing_results(turn, stored | added, taken)
    writes = [AddMessage(turn.conversation, added[seq], turn.job) for seq in sorted(added)]
    closed = CloseTurn(turn.conversation, turn_id(turn.turn), "interrupted", turn.job)
    apply(connection, [*writes, closed], now=now)


def _messages(connection: apsw.Connection, turn: _OpenTurn) -> tuple[_Numbered, set[int]]:
    """The messages of the turn by number, and every number that a row has."""
    query = "SELECT seq, record FROM message WHERE conversation = ? AND job = ? AND turn = ? ORDER BY seq"
    stored: _Numbered = {}
    taken: set[int] = set()
    for seq, record in connection.execute(query, turn.key):
        taken.add(seq)
        try:
            stored[seq] = decode_message(record)
        except AgentFailure:
            # The row stays as it is; reading the conversation reports it.
            continue
    return stored, taken


def _missing_prompt(turn: _OpenTurn, stored: _Numbered, taken: set[int]) -> _Numbered:
    has_prompt = any(isinstance(message, UserMessage) for message in stored.values())
    if has_prompt or 1 in taken or not turn.prompt.strip():
        return {}
    return {1: UserMessage(message_id(turn.turn, 1), turn.prompt)}


def _partial(connection: apsw.Connection, turn: _OpenTurn, taken: set[int]) -> _Numbered:
    """Messages out of streamed pieces; reasoning alone makes none, as nothing could be sent of it."""
    query = "SELECT seq, kind, text FROM piece WHERE conversation = ? AND job = ? AND turn = ? ORDER BY seq, n"
    pieces: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for seq, kind, text in connection.execute(query, turn.key):
        pieces[seq].append((kind, text_out(text)))
    partial: _Numbered = {}
    for seq, found in pieces.items():
        parts = _parts(found)
        if seq not in taken and joined_text(parts).strip():
            partial[seq] = AssistantMessage(message_id(turn.turn, seq), parts, turn.model, "error")
    return partial


def _parts(pieces: Sequence[tuple[str, str]]) -> tuple[Part, ...]:
    """Neighbours of one kind are one part."""
    runs: list[tuple[str, list[str]]] = []
    for kind, text in pieces:
        if not runs or runs[-1][0] != kind:
            runs.append((kind, []))
        runs[-1][1].append(text)
    return tuple(Text("".join(texts)) if kind == "text" else Thinking("".join(texts)) for kind, texts in runs)


def _missing_results(turn: _OpenTurn, messages: _Numbered, taken: set[int]) -> _Numbered:
    """Results for the calls that have none, under the first free numbers behind their reply."""
    results: _Numbered = {}
    for seq, call in _open_calls(messages):
        free = seq + 1
        while free in taken or free in results:
            free += 1
        results[free] = no_result(message_id(turn.turn, free), call)
    return results


def _open_calls(messages: _Numbered) -> Iterable[tuple[int, Call]]:
    open_calls: dict[str, tuple[int, Call]] = {}
    for seq in sorted(messages):
        message = messages[seq]
        if isinstance(message, ToolMessage):
            open_calls.pop(message.call_id, None)
        elif isinstance(message, AssistantMessage):
            yield from open_calls.values()
            open_calls = {call.id: (seq, call) for call in message.calls}
    yield from open_calls.values()
