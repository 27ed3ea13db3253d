"""What the readers of both dialects share: where a body begins, how much of it is taken, how it ends.

A dialect adds what its events mean. Nothing of an answer that broke off runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from smith_server.core.errors import AgentError, agent_error
from smith_server.core.messages import Call, Part, Text, Thinking, Usage
from smith_server.core.ports import Delta, Done, Failed
from smith_server.llm import advice, errors, loose_json, reasons
from smith_server.llm.answer import End
from smith_server.llm.assemble import Assembly, OpenCall, closed_call
from smith_server.llm.presets import Preset
from smith_server.llm.sse import MARK, Event, EventDecoder

MOST_PENDING = 64 * 1024 * 1024
"""Bytes of one event, or of a whole answer, beyond which it is given up."""


class BodyReader(ABC):
    """Reads one answer.

    `finished`: nothing more needs to be read. `events` and `comments` count signs of life. `whole`:
    the body is one JSON value. `taken` are ids that no call may get.
    """

    def __init__(self, preset: Preset, content_type: str = "", taken: Collection[str] = ()) -> None:
        self.finished = False
        self.events = 0
        self.whole = False
        self._preset = preset
        self._type = content_type.partition(";")[0].strip().lower()
        self._taken = taken
        self._begun = False
        self._head = b""
        self._body = bytearray()
        self._sse = EventDecoder()
        self._assembly = Assembly()
        self._done = False
        self._reason = ""
        self._error: AgentError | None = None

    @property
    def complete(self) -> bool:
        """The answer said that, or why, it ended; only usage may follow."""
        return self._done or bool(self._reason)

    @property
    def comments(self) -> int:
        """Signs of life without content so far."""
        return self._sse.comments

    @property
    @abstractmethod
    def used(self) -> Usage | None:
        """The tokens that were reported, if they were."""

    @property
    def cost(self) -> float | None:
        """US dollars, where the provider tells what the request cost."""
        return None

    @abstractmethod
    def _take(self, event: Event, *, cut: bool = False) -> None:
        """One event; `cut` when the stream ended without its blank line."""

    @abstractmethod
    def _read_whole(self, value: dict[str, Any]) -> None:
        """A body that is one JSON object and no error."""

    def feed(self, data: bytes) -> list[Delta]:
        """What `data` adds to the answer. The text of one call is joined."""
        if self.finished or not data:
            return []
        if not self._begun:
            data = self._begin(data)
        if self.whole:
            self._body += data
            self._bound(len(self._body))
            return []
        for event in self._sse.feed(data):
            self._take(event)
            if self.finished:
                break
        self._bound(self._sse.pending)
        return self._assembly.flush()

    def end(self, how: End = "eof") -> list[Delta]:
        """Nothing more will come. What is left of the answer, and `Done` or `Failed` as the last item."""
        if not self.finished:
            if self.whole:
                self._take_whole(bytes(self._body))
            else:
                for event in self._sse.close():
                    self._take(event, cut=True)
        self.finished = True
        return [*self._assembly.flush(last=True), self._verdict(how)]

    def _begin(self, data: bytes) -> bytes:
        """What to read, once the first byte that is not blank tells a whole answer from a stream."""
        self._head += data
        start = self._head.removeprefix(MARK).lstrip()
        if not start or MARK.startswith(self._head):
            return b""
        self._begun = True
        self.whole = start[:1] in (b"{", b"[") and self._type in ("", "application/json")
        return start

    def _bound(self, size: int) -> None:
        if size > MOST_PENDING and not self.finished:
            self._fail(agent_error("protocol", "protocol_error", advice.too_large(self._preset, MOST_PENDING)))

    def _take_whole(self, body: bytes) -> None:
        """A body that is one JSON value: an answer, or an error that came with a good status."""
        try:
            value = loose_json.decode(body)
        except loose_json.Malformed:
            return
        error = errors.error_in(value)
        if error is not None:
            self._failed_by(error)
        elif isinstance(value, dict):
            self._read_whole(value)
        else:
            self._damaged(body)

    def _failed_by(self, error: Any) -> bool:
        """Note an error of the provider, unless the answer had ended well before it."""
        if error is False or error == "" or (self.complete and not reasons.failure_of(self._reason)):
            return False
        self._fail(errors.in_stream(error, self._preset))
        return True

    def _damaged(self, data: bytes) -> None:
        """An event that is no JSON object."""
        excerpt = data[:200].decode("utf-8", "replace")
        self._fail(agent_error("protocol", "protocol_error", advice.damaged(self._preset), cause=excerpt))

    def _fail(self, error: AgentError) -> None:
        self._error = error
        self.finished = True

    def _verdict(self, how: End) -> Done | Failed:
        error = self._error or self._reason_error()
        if error is None and not self.complete:
            error = self._broken(how)
        if error is not None:
            return Failed(errors.judged(error, self._assembly.output), self._kept(), self.used, cost=self.cost)
        parts, dropped = self._closed()
        called = any(isinstance(part, Call) for part in parts)
        stop = reasons.stop_of(self._reason, called=called)
        return Done(parts, stop, self.used, dropped, self.cost, reasons.is_pause(self._reason))

    def _reason_error(self) -> AgentError | None:
        code = reasons.failure_of(self._reason)
        if not code:
            return None
        text = advice.for_code(code, f"finish reason {self._reason}", self._preset)
        return agent_error("transport", code, text, provider=self._preset.name)

    def _broken(self, how: End) -> AgentError:
        if how == "stall":
            return agent_error("transport", "stall_timeout", advice.stalled(self._preset), provider=self._preset.name)
        text = advice.truncated(self._preset, markup=self._type == "text/html")
        return agent_error("transport", "stream_truncated", text, provider=self._preset.name)

    def _parts(self) -> list[Part | OpenCall]:
        """Everything that came, in its order, calls still open."""
        return self._assembly.parts(self._preset.issuer)

    def _kept(self) -> tuple[Part, ...]:
        """Words and reasoning of a broken answer. Nothing of it may be sent back as reasoning."""
        kept: list[Part] = []
        for part in self._parts():
            if isinstance(part, Text):
                kept.append(part)
            elif isinstance(part, Thinking) and part.text:
                kept.append(Thinking(part.text))
        return tuple(kept)

    def _closed(self) -> tuple[tuple[Part, ...], int]:
        """All parts of a good answer, its calls closed, and how many calls its end cost."""
        taken = set(self._taken if self._assembly.output == "call" else ())
        parts: list[Part] = []
        dropped = 0
        for part in self._parts():
            if not isinstance(part, OpenCall):
                parts.append(part)
            elif reasons.survives(part, self._reason):
                call = closed_call(part, taken)
                taken.add(call.id)
                parts.append(call)
            else:
                dropped += 1
        return tuple(parts), dropped
