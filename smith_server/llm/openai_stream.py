"""An OpenAI Chat Completions answer, streamed or whole: bytes in, deltas out, no I/O.

Complete is what said so: `[DONE]` or a reason for its end. Nothing of an answer that broke off runs.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from smith_server.core.errors import AgentError, agent_error
from smith_server.core.messages import Call, Part, Text, Thinking
from smith_server.core.ports import Delta, Done, Failed
from smith_server.llm import advice, errors, loose_json, openai_reason, openai_wire
from smith_server.llm.answer import End
from smith_server.llm.assemble import Assembly, OpenCall, closed_call
from smith_server.llm.openai_calls import CallTable
from smith_server.llm.openai_wire import Choice, Chunk, Fragment, Reported
from smith_server.llm.presets import Preset
from smith_server.llm.sse import MARK, Event, EventDecoder

MOST_PENDING = 64 * 1024 * 1024
"""Bytes of one event, or of a whole answer, beyond which it is given up."""


class OpenAIReader:
    """Reads one answer.

    `finished`: nothing more needs to be read. `complete`: the answer said why it ended, only usage
    may follow. `events` and `comments` count signs of life. `whole`: it is one JSON value.
    `reported` is the usage in the vendor's own counting. `taken` are ids that no call may get.
    """

    def __init__(self, preset: Preset, content_type: str = "", taken: Collection[str] = ()) -> None:
        self.finished = False
        self.events = 0
        self.whole = False
        self.reported: Reported | None = None
        self._preset = preset
        self._type = content_type.partition(";")[0].strip().lower()
        self._taken = taken
        self._begun = False
        self._head = b""
        self._body = bytearray()
        self._sse = EventDecoder()
        self._assembly = Assembly()
        self._calls = CallTable(self._assembly)
        self._done = False
        self._reason = ""
        self._error: AgentError | None = None

    @property
    def complete(self) -> bool:
        return self._done or bool(self._reason)

    @property
    def comments(self) -> int:
        return self._sse.comments

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

    def _take(self, event: Event, *, cut: bool = False) -> None:
        self.events += 1
        try:
            chunk = openai_wire.decode_typed(event.data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            odd = self._odd(event.data, cut)
            if odd is None:
                return
            chunk = odd
        if chunk.error is not None and self._failed_by(chunk.error):
            return
        if chunk.usage is not None:
            self._count(chunk.usage)
        for choice in chunk.choices or ():
            if not choice.index:
                self._read(choice, choice.delta)

    def _odd(self, data: bytes, cut: bool) -> Chunk | None:
        """An event that is not exactly as documented; None when there is nothing to read in it."""
        if data.strip() == b"[DONE]":
            self._done = self.finished = True
            return None
        try:
            chunk = openai_wire.decode_loosely(data)
        except loose_json.Malformed:
            chunk = None
            if cut:
                return None
        if chunk is None and not self.complete:
            self._fail(agent_error("protocol", "protocol_error", advice.damaged(self._preset), cause=_excerpt(data)))
        return chunk

    def _take_whole(self, body: bytes) -> None:
        """A body that is one JSON value: an answer, or an error that came with a good status."""
        try:
            value = loose_json.decode(body)
        except loose_json.Malformed:
            return
        error = errors.error_in(value)
        if error is not None:
            self._failed_by(error)
        elif not isinstance(value, dict):
            self._fail(agent_error("protocol", "protocol_error", advice.damaged(self._preset), cause=_excerpt(body)))
        else:
            self._read_whole(openai_wire.loosely(value))

    def _read_whole(self, chunk: Chunk) -> None:
        self._count(chunk.usage)
        for choice in chunk.choices or ():
            if not choice.index:
                self._done = self._done or choice.message is not None
                self._read(choice, choice.message or choice.delta)

    def _read(self, choice: Choice, delta: openai_wire.Delta | None) -> None:
        if delta is not None:
            if delta.reasoning_content is not None or delta.reasoning is not None:
                self._reason_with(delta.reasoning_content or "", delta.reasoning or "")
            if delta.reasoning_details:
                self._assembly.detail(delta.reasoning_details)
            if (content := delta.content) is not None:
                self._say(content)
            if delta.refusal:
                self._assembly.say("text", delta.refusal)
            if delta.tool_calls is not None or delta.function_call is not None:
                self._add_calls(delta)
        if choice.usage is not None:
            self._count(choice.usage)
        if choice.error is not None and self._failed_by(choice.error):
            return
        if choice.finish_reason is not None:
            self._reason = openai_reason.plain(choice.finish_reason) or self._reason

    def _reason_with(self, first: str, second: str) -> None:
        """One of two spellings of the same text, never both."""
        text, field = first, "reasoning_content"
        if second and (not first or first.isspace()):
            text, field = second, "reasoning"
        if text:
            self._assembly.say("thinking", text, field)

    def _say(self, content: str | list[Any]) -> None:
        if isinstance(content, str):
            if content:
                self._assembly.say("text", content)
            return
        for part in content:
            kind, text = openai_wire.part_text(part)
            if text:
                self._assembly.say(kind, text)

    def _add_calls(self, delta: openai_wire.Delta) -> None:
        add = self._calls.whole if self.whole else self._calls.add
        for fragment in delta.tool_calls or ():
            add(fragment, self._preset.issuer)
        if delta.function_call is not None:
            add(Fragment(function=delta.function_call), self._preset.issuer)

    def _count(self, usage: Any) -> None:
        self.reported = openai_wire.reported(usage) or self.reported

    def _failed_by(self, error: Any) -> bool:
        """Note an error of the provider, unless the answer had ended well before it."""
        if error is False or error == "" or (self.complete and not openai_reason.failure_of(self._reason)):
            return False
        self._fail(errors.in_stream(error, self._preset))
        return True

    def _fail(self, error: AgentError) -> None:
        self._error = error
        self.finished = True

    def _verdict(self, how: End) -> Done | Failed:
        usage = self.reported.disjoint if self.reported else None
        error = self._error or self._reason_error()
        if error is None and not self.complete:
            error = self._broken(how)
        if error is not None:
            return Failed(errors.judged(error, self._assembly.output), self._kept(), usage)
        parts = self._parts()
        called = any(isinstance(part, Call) for part in parts)
        return Done(parts, openai_reason.stop_of(self._reason, called=called), usage)

    def _reason_error(self) -> AgentError | None:
        code = openai_reason.failure_of(self._reason)
        if not code:
            return None
        text = advice.for_code(code, f"finish reason {self._reason}", self._preset)
        return agent_error("transport", code, text, provider=self._preset.name)

    def _broken(self, how: End) -> AgentError:
        if how == "stall":
            return agent_error("transport", "stall_timeout", advice.stalled(self._preset), provider=self._preset.name)
        text = advice.truncated(self._preset, markup=self._type == "text/html")
        return agent_error("transport", "stream_truncated", text, provider=self._preset.name)

    def _kept(self) -> tuple[Part, ...]:
        """Words and reasoning of a broken answer. Nothing of it may be sent back as reasoning."""
        kept: list[Part] = []
        for part in self._assembly.parts(self._preset.issuer):
            if isinstance(part, Text):
                kept.append(part)
            elif isinstance(part, Thinking) and part.text:
                kept.append(Thinking(part.text))
        return tuple(kept)

    def _parts(self) -> tuple[Part, ...]:
        """All parts of a good answer, its calls closed."""
        taken = set(self._taken if self._assembly.output == "call" else ())
        parts: list[Part] = []
        for part in self._assembly.parts(self._preset.issuer):
            if not isinstance(part, OpenCall):
                parts.append(part)
            elif openai_reason.survives(part, self._reason):
                call = closed_call(part, taken)
                taken.add(call.id)
                parts.append(call)
        return tuple(parts)


def _excerpt(data: bytes) -> str:
    return data[:200].decode("utf-8", "replace")
