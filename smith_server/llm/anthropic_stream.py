"""An Anthropic Messages answer, streamed or whole: bytes in, deltas out, no I/O.

Complete is what said so: `message_stop` or a stop reason.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from smith_server.core.messages import Part, Usage
from smith_server.llm import anthropic_wire, loose_json, reasons
from smith_server.llm.anthropic_blocks import Blocks
from smith_server.llm.anthropic_wire import Message, Reported, text_of
from smith_server.llm.assemble import OpenCall
from smith_server.llm.presets import Preset
from smith_server.llm.reading import BodyReader
from smith_server.llm.sse import Event

_NOTHING = Reported()


class AnthropicReader(BodyReader):
    """Reads one answer. `reported` is the usage in the vendor's own counting."""

    def __init__(self, preset: Preset, content_type: str = "", taken: Collection[str] = ()) -> None:
        super().__init__(preset, content_type, taken)
        self._blocks = Blocks(self._assembly)
        self._usage = _NOTHING
        self._pings = 0

    @property
    def comments(self) -> int:
        return self._sse.comments + self._pings

    @property
    def reported(self) -> Reported | None:
        return None if self._usage == _NOTHING else self._usage

    @property
    def used(self) -> Usage | None:
        return self.reported.disjoint if self.reported else None

    def _parts(self) -> list[Part | OpenCall]:
        return self._blocks.parts(self._preset.issuer)

    def _take(self, event: Event, *, cut: bool = False) -> None:
        try:
            found: Message | None = anthropic_wire.decode_typed(event.data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            found = self._odd(event.data, cut)
        if found is None:
            return
        kind = found.type or event.name
        if kind == "ping":
            self._pings += 1
            return
        self.events += 1
        if kind == "content_block_delta" and found.delta is not None:
            self._blocks.more(found.index, found.delta)
        else:
            self._read(kind, found)

    def _odd(self, data: bytes, cut: bool) -> Message | None:
        """An event that is not exactly as documented; None when there is nothing to read in it."""
        try:
            found = anthropic_wire.decode_loosely(data)
        except loose_json.Malformed:
            found = None
            if cut:
                return None
        if found is None and not self.complete:
            self._damaged(data)
        return found

    def _read(self, kind: str, event: Message) -> None:
        match kind:
            case "content_block_start":
                self._blocks.start(event.index, event.content_block)
            case "message_start":
                self._begin_message(event.message)
            case "message_delta":
                self._usage = self._usage.updated(event.usage)
                if event.delta is not None:
                    self._reason = reasons.plain(event.delta.stop_reason) or self._reason
            case "message_stop":
                self._done = self.finished = True
            case _ if event.error is not None:
                self._failed_by(event.error)
            case "error":
                self._failed_by({})

    def _begin_message(self, message: Any) -> None:
        if isinstance(message, dict):
            self._usage = self._usage.updated(message.get("usage"))

    def _read_whole(self, value: dict[str, Any]) -> None:
        content = value.get("content")
        self._done = isinstance(content, list)
        for block in content if isinstance(content, list) else ():
            self._blocks.start(None, block)
        self._usage = self._usage.updated(value.get("usage"))
        self._reason = reasons.plain(text_of(value.get("stop_reason")))
