"""An OpenAI Chat Completions answer, streamed or whole: bytes in, deltas out, no I/O.

Complete is what said so: `[DONE]` or a reason for its end.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from smith_server.core.messages import Usage
from smith_server.llm import loose_json, openai_wire, reasons
from smith_server.llm.openai_calls import CallTable
from smith_server.llm.openai_wire import Choice, Chunk, Fragment, Reported
from smith_server.llm.presets import Preset
from smith_server.llm.reading import BodyReader
from smith_server.llm.sse import Event


class OpenAIReader(BodyReader):
    """Reads one answer. `reported` is the usage in the vendor's own counting."""

    def __init__(self, preset: Preset, content_type: str = "", taken: Collection[str] = ()) -> None:
        super().__init__(preset, content_type, taken)
        self.reported: Reported | None = None
        self._calls = CallTable(self._assembly)
        self._cost: float | None = None

    @property
    def used(self) -> Usage | None:
        return self.reported.disjoint if self.reported else None

    @property
    def cost(self) -> float | None:
        return self._cost

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
            self._damaged(data)
        return chunk

    def _read_whole(self, value: dict[str, Any]) -> None:
        chunk = openai_wire.loosely(value)
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
            self._reason = reasons.plain(choice.finish_reason) or self._reason

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
        if self._preset.compat.tells_cost and (cost := openai_wire.told_cost(usage)) is not None:
            self._cost = cost
