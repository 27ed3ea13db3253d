"""The view of a conversation that is sent: what the window leaves of it, with system prompt and tools."""

import copy
from collections.abc import Sequence

import msgspec

from smith_server.config.schema.agent import ContextManagement
from smith_server.core.estimate import correction
from smith_server.core.events import ContextTrimmed
from smith_server.core.messages import Message, Usage
from smith_server.core.ports import Emit, Request
from smith_server.core.window import Shown, Window, WindowRules


class WindowView:
    """A `View` that keeps its window from request to request.

    `frame` is the request without messages; it may be another one with each turn.
    """

    def __init__(self, rules: WindowRules, emit: Emit) -> None:
        self._window = Window(rules)
        self._emit = emit
        self._frame: Request | None = None
        self._extra = 0
        self._factor = 1.0
        self._characters = 0

    @property
    def rules(self) -> WindowRules:
        return self._window.rules

    def use(self, frame: Request) -> None:
        """The prompt, model and tools of the next requests."""
        if frame == self._frame:
            return
        self._frame = frame
        self._extra = len(frame.system) + len(msgspec.json.encode(frame.tools))

    async def next(self, messages: Sequence[Message]) -> Request:
        """The next request; says so when it leaves out more than the one before."""
        assert self._frame is not None, "a frame comes first"
        shown = self._window.view(messages, self._extra, self._factor)
        self._characters = shown.characters
        if shown.changed:
            limit = int(self._window.rules.trigger)
            self._emit(ContextTrimmed(elided=shown.elided, dropped=shown.dropped, estimate=shown.estimate, limit=limit))
        return msgspec.structs.replace(self._frame, messages=shown.messages)

    def look(self, messages: Sequence[Message], frame: Request) -> Shown:
        """What `next` would send of `messages` with `frame`; nothing is changed by it."""
        window = copy.deepcopy(self._window, {id(message): message for message in messages})
        extra = len(frame.system) + len(msgspec.json.encode(frame.tools))
        return window.view(messages, extra, self._factor)

    def answered(self, usage: Usage) -> None:
        """Correct the estimate by what the provider reported."""
        if usage.context:
            self._factor = correction(self._characters, usage.context)


def rules_of(settings: ContextManagement, *, can_recall: bool, window: int, output_limit: int) -> WindowRules:
    """The settings as rules of the window."""
    return WindowRules(
        enabled=settings.enabled,
        keep_rounds=settings.tool_output_keep_rounds,
        elide_over_chars=settings.tool_output_elide_over_chars,
        elide_step=settings.elide_step,
        elide_min_gain_pct=settings.elide_min_gain_pct,
        trim_threshold_pct=settings.trim_threshold_pct,
        drop_to_pct=settings.compact_to * 100,
        context_window=window,
        output_limit=output_limit,
        max_tokens=settings.max_tokens,
        can_recall=can_recall,
    )
