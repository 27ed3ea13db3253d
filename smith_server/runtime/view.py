"""The view of a conversation that is sent: what the window leaves of it, with system prompt and tools."""

import copy
from collections.abc import Iterable, Sequence

import msgspec

from smith_server.config.schema.agent import ContextManagement
from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.estimate import CHARACTERS_PER_TOKEN, correction, tokens
from smith_server.core.events import CompactionStarted, ContextCompacted, ContextTrimmed
from smith_server.core.messages import Message, Usage
from smith_server.core.ports import Emit, Request
from smith_server.core.rounds import Unit
from smith_server.core.space import Space, by_kind
from smith_server.core.squeeze import Squeeze
from smith_server.core.window import Shown, Window, WindowRules
from smith_server.runtime.compact import Summarize

MOST_IN_VAIN = 2
"""Compactions in a row that do not help; then it is told what takes the space."""


class WindowView:
    """A `View` that keeps its window from request to request.

    `records` are the compactions made so far. `frame` is the request without messages, `summarize`
    whom to ask for a summary; both may be others with each turn.
    """

    def __init__(self, rules: WindowRules, emit: Emit, records: Iterable[Compaction] = (), factor: float = 1.0) -> None:
        self._window = Window(rules, records)
        self._emit = emit
        self._frame: Request | None = None
        self._summarize: Summarize | None = None
        self._system = self._tools = 0
        self._factor = factor
        self._characters = 0
        self._used = Usage()
        self._vain = 0
        self._prompt: Unit | None = None

    @property
    def rules(self) -> WindowRules:
        return self._window.rules

    @property
    def frame(self) -> Request:
        """The request without messages that was given last."""
        assert self._frame is not None, "a frame comes first"
        return self._frame

    @property
    def factor(self) -> float:
        """By what the estimate was off, as far as the provider said."""
        return self._factor

    def use(self, frame: Request, summarize: Summarize | None = None) -> None:
        """The prompt, model and tools of the next requests."""
        self._summarize = summarize
        if frame == self._frame:
            return
        self._frame = frame
        self._system = len(frame.system)
        self._tools = len(msgspec.json.encode(frame.tools)) if frame.tools else 0

    async def next(self, messages: Sequence[Message]) -> Request:
        """The next request; says so when it leaves out more than the one before."""
        compacted = await self._make_room(messages)
        shown = self._shown(messages)
        self._characters = shown.characters
        if shown.changed and not compacted:
            limit = int(self.rules.trigger)
            self._emit(ContextTrimmed(elided=shown.elided, dropped=shown.dropped, estimate=shown.estimate, limit=limit))
        return msgspec.structs.replace(self.frame, messages=shown.messages)

    async def compact(self, messages: Sequence[Message]) -> Compaction:
        """Make room now, because somebody asked for it: the past is shortened and summed up.

        Raises `Cancelled`, and policy/`context_unmanaged` where it is switched off.
        """
        if not self.rules.enabled:
            text = "`context_management.enabled` is off: everything is sent as it is."
            raise failure("policy", "context_unmanaged", text)
        self._window.weigh(messages, self._extra, self._factor)
        squeeze = self._squeeze(messages, thorough=True)
        await self._work(squeeze)
        return squeeze.record

    def space(self, messages: Sequence[Message]) -> Space:
        """What takes the space of the next request, before room is made for it."""
        shown, rules = self._shown(messages), self.rules
        own = (("system", tokens(self._system, self._factor)), ("tools", tokens(self._tools, self._factor)))
        return Space(
            (*own, *by_kind(shown.messages, self._factor)),
            shown.estimate,
            int(rules.trigger),
            int(rules.target),
            rules.ceiling,
            shown.elided,
            shown.dropped,
            shown.covered,
        )

    def look(self, messages: Sequence[Message], frame: Request) -> Shown:
        """What would be sent of `messages` with `frame` before room is made for it; nothing is changed by looking."""
        window = copy.deepcopy(self._window, {id(message): message for message in messages})
        extra = len(frame.system) + (len(msgspec.json.encode(frame.tools)) if frame.tools else 0)
        return window.view(messages, extra, self._factor)

    def answered(self, usage: Usage) -> None:
        """Correct the estimate by what the provider reported."""
        if usage.context:
            self._factor = correction(self._characters, usage.context)

    def used(self) -> Usage:
        """What summaries have cost since this was asked last."""
        used, self._used = self._used, Usage()
        return used

    @property
    def _extra(self) -> int:
        return self._system + self._tools

    def _shown(self, messages: Sequence[Message]) -> Shown:
        return self._window.view(messages, self._extra, self._factor)

    async def _make_room(self, messages: Sequence[Message]) -> bool:
        """Compact when the request is above the trigger; whether anything was left out by that."""
        rules = self.rules
        estimate = self._window.weigh(messages, self._extra, self._factor)
        if not (rules.enabled and rules.compacts) or estimate <= rules.trigger:
            return False
        squeeze = self._squeeze(messages)
        await self._work(squeeze)
        self._judge(squeeze, messages)
        return bool(squeeze.record.steps)

    def _squeeze(self, messages: Sequence[Message], *, thorough: bool = False) -> Squeeze:
        upto = messages[-1].id if messages else ""
        return Squeeze(self._window, upto, self._extra, self._factor, thorough=thorough)

    async def _work(self, squeeze: Squeeze) -> None:
        """The steps of a compaction. What was done is told also when it is broken off."""
        used, asked = Usage(), False
        try:
            squeeze.shorten()
            if (covered := squeeze.covered()) and self._summarize is not None:
                asked = True
                self._emit(CompactionStarted(estimate=squeeze.record.before, limit=int(self.rules.trigger)))
                said = await self._summarize(covered, self._room_to_ask())
                used = said.usage
                squeeze.summarize(said.text)
            squeeze.drop()
        finally:
            self._used = self._used + used
            if squeeze.record.steps:
                self._window.note(squeeze.record)
            if squeeze.record.steps or asked:
                self._emit(_event(squeeze.record, used))

    def _room_to_ask(self) -> int:
        return int(self.rules.trigger * CHARACTERS_PER_TOKEN / max(1.0, self._factor))

    def _judge(self, squeeze: Squeeze, messages: Sequence[Message]) -> None:
        """Raise `context_exhausted` when there is no sense in sending what is left, or in trying again."""
        if self._window.prompt is not self._prompt:
            self._prompt, self._vain = self._window.prompt, 0
        if squeeze.record.steps:
            self._vain = self._vain + 1 if squeeze.is_vain else 0
        if squeeze.record.after > self.rules.ceiling or self._vain >= MOST_IN_VAIN:
            self._vain = 0
            raise _exhausted(self.space(messages))


def rules_of(settings: ContextManagement, *, can_recall: bool, window: int, output_limit: int) -> WindowRules:
    """The settings as rules of the window. An answer is given half of the model's window at most."""
    return WindowRules(
        enabled=settings.enabled,
        keep_rounds=settings.tool_output_keep_rounds,
        elide_over_chars=settings.tool_output_elide_over_chars,
        elide_step=settings.elide_step,
        elide_min_gain_pct=settings.elide_min_gain_pct,
        trim_threshold_pct=settings.trim_threshold_pct,
        drop_to_pct=settings.compact_to * 100,
        context_window=window,
        output_limit=min(output_limit, window // 2),
        max_tokens=settings.max_tokens,
        can_recall=can_recall,
        compacts=True,
        summarizes=settings.summarize,
    )


def _event(record: Compaction, usage: Usage) -> ContextCompacted:
    counts = {"covered": len(record.covered), "dropped": len(record.dropped)}
    return ContextCompacted(
        record=record, steps=record.steps, before=record.before, after=record.after, usage=usage, **counts
    )


def _exhausted(space: Space) -> AgentFailure:
    parts = ", ".join(f"{name} {size:,}" for name, size in space.largest[:4])
    text = (
        f"The context is full: the smallest request has {space.estimate:,} of {space.ceiling:,} tokens ({parts})."
        " Send less at once, begin anew with /new, or use a model with a larger window."
    )
    facts = {"space": dict(space.parts), "estimate": space.estimate, "ceiling": space.ceiling}
    return failure("budget_exhausted", "context_exhausted", text, cause="", **facts)
