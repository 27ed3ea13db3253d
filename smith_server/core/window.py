"""What of a transcript goes into the next request: old tool output is elided, the oldest units dropped.

The transcript is never touched: a view is a list of its own. A view only grows at its end from one
request to the next, except when it changes: providers keep what they have read as long as it does.
Pure; each message is looked at once.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from smith_server.core.compaction import SUMMARY, Compaction, as_unit, rewrite, rewrites
from smith_server.core.estimate import CHARACTERS_PER_TOKEN, tokens
from smith_server.core.messages import Message
from smith_server.core.rounds import Grouping, Unit


class WindowRules(Struct, frozen=True):
    """How much may be sent, and what is left out first.

    `enabled` false: everything is sent as it is. The results of the newest `keep_rounds` tool
    rounds are never elided; of older ones those with more than `elide_over_chars` characters are,
    whenever `elide_step` further rounds have become old and eliding frees at least
    `elide_min_gain_pct` percent of the ceiling, or when the request is too large. Above
    `trim_threshold_pct` percent of the ceiling the oldest units are dropped until it fits, or, once
    anything has to go, down to `drop_to_pct`. With `compacts` the window makes no room by itself:
    `squeeze.py` does, with a summary if `summarizes`. Sizes are in tokens. `can_recall`: whoever
    reads this has the `recall` tool.
    """

    enabled: bool = True
    keep_rounds: int = 7
    elide_over_chars: int = 1024
    elide_step: int = 4
    elide_min_gain_pct: float = 5
    trim_threshold_pct: float = 80
    drop_to_pct: float | None = None
    context_window: int = 128_000
    output_limit: int = 0
    max_tokens: int | None = None
    can_recall: bool = True
    compacts: bool = False
    summarizes: bool = True

    @property
    def ceiling(self) -> int:
        """Tokens that a request may have at most."""
        room = max(1, self.context_window - self.output_limit)
        return room if self.max_tokens is None else min(room, self.max_tokens)

    @property
    def summary_room(self) -> int:
        """Characters that a summary may have."""
        return min(8000, self.ceiling * CHARACTERS_PER_TOKEN // 10)

    @property
    def trigger(self) -> float:
        """Tokens above which something is left out."""
        return self.ceiling * self.trim_threshold_pct / 100

    @property
    def target(self) -> float:
        """Tokens to which a drop goes."""
        return self.trigger if self.drop_to_pct is None else min(self.trigger, self.ceiling * self.drop_to_pct / 100)


class Shown(Struct, frozen=True):
    """A view: the messages of the next request and what it costs.

    `characters` and `estimate` (tokens) are those of the whole request, `extra` included. `elided`
    results, `dropped` messages and those `covered` by a summary are counted from the start.
    `changed`: the view before this one is not the beginning of it.
    """

    messages: tuple[Message, ...]
    characters: int
    estimate: int
    elided: int = 0
    dropped: int = 0
    changed: bool = False
    covered: int = 0


class Window:
    """The view of one conversation, kept from request to request.

    Other rules need another `Window`; it comes to the same view from the whole transcript as one
    that saw it grow, if it is told the compactions made in between (`records`, oldest first), and
    unless that one had to make room by itself.
    """

    def __init__(self, rules: WindowRules, records: Iterable[Compaction] = ()) -> None:
        self.rules = rules
        self._records: defaultdict[str, list[Compaction]] = defaultdict(list)
        for record in records:
            self._records[record.upto].append(record)
        self._sent: list[Message] = []
        self._changed = False
        self.forget()

    def forget(self) -> None:
        """Begin again with the next view. Needed only when a message was replaced in the middle of the transcript."""
        self._changed = self._changed or bool(self._sent)
        self._sent = []
        self._seen = 0
        self._last: Message | None = None
        self._grouping = Grouping()
        self._units: list[Unit] = []
        self._unsent: list[Unit] = []
        self._fresh: deque[Unit] = deque()
        self._stale: list[Unit] = []
        self._prompt: Unit | None = None
        self._size = self._old = self._gain = 0
        self._elided = self._dropped = self._covered = 0
        self._rebuild = False

    def view(self, messages: Sequence[Message], extra: int = 0, factor: float = 1.0) -> Shown:
        """The view of `messages`, which may have grown since the last one, or be others.

        `extra` are the characters of system prompt and tools. `factor` corrects the estimate
        (`estimate.correction`).
        """
        self._catch_up(messages)
        if self.rules.enabled and not self.rules.compacts:
            self._make_room(extra, factor)
        changed = self._compose()
        shown = tuple(self._sent if self.rules.enabled else messages)
        total = self._size + extra
        return Shown(shown, total, tokens(total, factor), self._elided, self._dropped, changed, self._covered)

    def weigh(self, messages: Sequence[Message], extra: int = 0, factor: float = 1.0) -> int:
        """The estimate of the next view, before room is made; what the request before this one was stays that."""
        self._catch_up(messages)
        return tokens(self._size + extra, factor)

    @property
    def units(self) -> Sequence[Unit]:
        """What the next view is made of, in order."""
        return self._units

    @property
    def characters(self) -> int:
        """Those of all units together."""
        return self._size

    @property
    def prompt(self) -> Unit | None:
        """The newest prompt."""
        return self._prompt

    def excess(self, limit: float, extra: int, factor: float) -> int:
        """Characters by which the next request is over `limit` tokens; 0 or less when it fits."""
        return self._size + extra - math.floor(math.floor(limit) * CHARACTERS_PER_TOKEN / factor)

    def apply(self, record: Compaction) -> None:
        """Leave out of the next view what `record` says. Messages that are not in it are no matter."""
        how = rewrites(record)
        for unit in self._units:
            before = unit.size
            self._elided += rewrite(unit, how, self.rules.can_recall)
            self._size += unit.size - before
            self._changed = self._changed or (unit.sent and unit.size != before)
        self._cover(frozenset(record.covered), record.summary)
        gone = frozenset(record.dropped)
        for unit in self._units:
            if unit.messages[0].id in gone:
                self._drop(unit)
        self._units = [unit for unit in self._units if not unit.dropped]
        self._stale = [unit for unit in self._stale if not unit.dropped]
        self._gain = sum(unit.gain(self.rules.elide_over_chars, self.rules.can_recall) for unit in self._stale)

    def note(self, record: Compaction) -> None:
        """Keep a record that was applied, for when the view has to be begun again."""
        self._records[record.upto].append(record)

    def _cover(self, names: frozenset[str], summary: str) -> None:
        """Put a summary where the last unit of those it covers is; an earlier summary goes."""
        covered = [unit for unit in self._units if unit.messages[0].id in names]
        if not covered:
            return
        for unit in covered:
            self._leave_out(unit)
            self._covered += 0 if unit.messages[0].id == SUMMARY else len(unit.messages)
        stands = as_unit(summary)
        at = self._units.index(covered[-1])
        self._units[at:at] = [stands]
        self._units = [unit for unit in self._units if not unit.dropped]
        self._unsent.append(stands)
        self._size += stands.size
        self._rebuild = True

    def _catch_up(self, messages: Sequence[Message]) -> None:
        if len(messages) < self._seen or (self._seen and messages[self._seen - 1] is not self._last):
            self.forget()
        for message in messages[self._seen :]:
            unit = self._grouping.add(message) if self.rules.enabled else Unit(message)
            if unit is not None:
                self._take(unit)
            if self.rules.compacts and message.id in self._records:
                for record in self._records[message.id]:
                    self.apply(record)
        self._seen = len(messages)
        self._last = messages[-1] if messages else None

    def _take(self, unit: Unit) -> None:
        self._units.append(unit)
        self._unsent.append(unit)
        self._size += unit.size
        if unit.is_prompt:
            self._prompt = unit
        elif unit.is_round:
            self._fresh.append(unit)
        if len(self._fresh) > self.rules.keep_rounds:
            self._grow_old(self._fresh.popleft())

    def _grow_old(self, unit: Unit) -> None:
        """From here on the results of `unit` may be elided; every few rounds it is seen whether that pays."""
        rules = self.rules
        self._old += 1
        unit.is_old = True
        if not unit.dropped:
            self._stale.append(unit)
            self._gain += unit.gain(rules.elide_over_chars, rules.can_recall)
        least = rules.ceiling * rules.elide_min_gain_pct / 100
        if self._old % max(1, rules.elide_step) == 0 and self._gain / CHARACTERS_PER_TOKEN >= least:
            self._elide()

    def _elide(self) -> None:
        for unit in self._stale:
            before = unit.size
            if count := unit.elide(self.rules.elide_over_chars, self.rules.can_recall):
                self._elided += count
                self._size += unit.size - before
                self._changed = self._changed or unit.sent
        self._stale.clear()
        self._gain = 0

    def _make_room(self, extra: int, factor: float) -> None:
        """Whatever may be elided goes first, then the oldest units; the newest prompt stays in any case."""

        def is_over(limit: float) -> bool:
            return tokens(self._size + extra, factor) > limit

        if is_over(self.rules.trigger):
            self._elide()
        if not is_over(self.rules.trigger):
            return
        at, kept = 0, []
        while at < len(self._units) and is_over(self.rules.target):
            unit, at = self._units[at], at + 1
            if unit is self._prompt:
                kept.append(unit)
            else:
                self._drop(unit)
        self._units[:at] = kept

    def _drop(self, unit: Unit) -> None:
        self._leave_out(unit)
        self._dropped += len(unit.messages)

    def _leave_out(self, unit: Unit) -> None:
        unit.dropped = True
        self._size -= unit.size
        self._changed = self._changed or unit.sent

    def _compose(self) -> bool:
        """Bring the list that is sent up to date; true when more than its end is new."""
        changed, self._changed = self._changed, False
        rebuild, self._rebuild = changed or self._rebuild, False
        fresh = [unit for unit in self._unsent if not unit.dropped]
        if rebuild:
            self._sent = []
        for unit in self._units if rebuild else fresh:
            self._sent.extend(unit.messages)
        for unit in fresh:
            unit.sent = True
        self._unsent.clear()
        return changed
