"""Answers of a model as the bytes of an HTTP response, made before anything is measured."""

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

EVENT_BYTES = 224
CHUNK_BYTES = 16384
_TOKENS_OF_A_LINE = 12
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"
_DONE = b"data: [DONE]\n\n"


class Reply(Struct, frozen=True):
    """A response in pieces. `hold` waits for a word before each piece but the first, `pause` so many seconds."""

    pieces: tuple[bytes, ...]
    hold: bool = False
    pause: float = 0.0


def says(text: str) -> Reply:
    """A short answer."""
    return Reply((_response([_delta({"content": text}), *_ending("stop")]),))


def says_in_two(first: str, rest: str) -> Reply:
    """The first words, and on a word the rest."""
    begin = _HEAD + _chunk(_delta({"content": first}))
    return Reply((begin, _chunk(b"".join([_delta({"content": rest}), *_ending("stop")])) + _END), hold=True)


def calls(number: int, command: str = "true") -> Reply:
    """The call number `number`, of `bash`."""
    return Reply((_response(_call(number, command)),))


def calls_late(number: int, command: str = "true") -> Reply:
    """The same, on a word."""
    return Reply((_HEAD, _chunk(b"".join(_call(number, command))) + _END), hold=True)


def streams(tokens: int, last: str = "That was all.") -> Reply:
    """That many tokens at once."""
    return Reply((_response([*_tokens(tokens, last), *_ending("stop")]),))


def streams_slowly(tokens: int, per_second: int, last: str = "") -> Reply:
    """That many tokens one after the other."""
    pieces = [_HEAD, *(_chunk(event) for event in _tokens(tokens, last)), _chunk(b"".join(_ending("stop"))) + _END]
    return Reply(tuple(pieces), pause=1 / per_second)


def steps(count: int) -> list[Reply]:
    """That many calls, then a short answer."""
    return [*(calls(number) for number in range(1, count + 1)), says("done")]


def _tokens(count: int, last: str) -> Iterable[bytes]:
    """Lines of twelve tokens; `last` is the last token."""
    for number in range(1, count):
        end = " " if number % _TOKENS_OF_A_LINE else "\n"
        yield _delta({"content": f"tok{number % 1000:03d}{end}"}, padded=True)
    yield _delta({"content": last}, padded=True)


def _call(number: int, command: str) -> Sequence[bytes]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"index": 0, "id": f"call_{number:05d}", "type": "function", "function": function}
    return [_delta({"tool_calls": [call]}), *_ending("tool_calls")]


def _ending(reason: str) -> Sequence[bytes]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    last = _event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return [last, _event({"choices": [], "usage": usage}), _DONE]


def _delta(delta: dict[str, object], *, padded: bool = False) -> bytes:
    body: dict[str, object] = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    event = _event(body)
    if padded:
        body["system_fingerprint"] = "f" * max(0, EVENT_BYTES - len(event) - 25)
        event = _event(body)
    return event


def _event(body: dict[str, object]) -> bytes:
    plain = {"id": "chatcmpl-0001", "object": "chat.completion.chunk", "created": 1700000000, "model": "bench", **body}
    return b"data: " + json.dumps(plain, separators=(",", ":")).encode() + b"\n\n"


def _response(events: Iterable[bytes]) -> bytes:
    body = b"".join(events)
    chunks = [_chunk(body[at : at + CHUNK_BYTES]) for at in range(0, len(body), CHUNK_BYTES)]
    return b"".join([_HEAD, *chunks, _END])


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
