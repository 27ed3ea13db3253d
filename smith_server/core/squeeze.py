"""One compaction at work: step after step leaves out more, until the request is small enough. Pure.

squeeze.shorten()                       what can go without a loss that matters
squeeze.summarize(text)                 the oldest part, told by whoever was asked to sum it up
squeeze.drop()                          whole units, when that was not enough
"""

import itertools
from collections.abc import Sequence

from msgspec import structs

from smith_server.core.compaction import SUMMARY, Compaction, as_unit, largest, oldest, shortening
from smith_server.core.estimate import tokens
from smith_server.core.messages import Message
from smith_server.core.rounds import Unit
from smith_server.core.window import Window

LEAST_GAIN = 0.02
"""Part of the ceiling that a compaction has to free to have been worth it."""


class Squeeze:
    """Makes room in `window`; `record` is what was done so far.

    `extra` and `factor` are those of the request, `upto` the id of the newest message. `thorough`:
    a person asked for it, so everything in front of the newest prompt goes, needed or not.
    """

    def __init__(self, window: Window, upto: str, extra: int, factor: float, *, thorough: bool = False) -> None:
        self._window = window
        self._rules = window.rules
        self._extra = extra
        self._factor = factor
        self._thorough = thorough
        self._last_was_touched = False
        self.record = Compaction(upto, before=self._estimate, after=self._estimate)

    @property
    def is_vain(self) -> bool:
        """Whether it did not help: hardly anything is free, or what the model has to know by now had to go."""
        freed = self.record.before - self.record.after
        is_over = self.record.after > self._rules.trigger
        return is_over or self._last_was_touched or freed < self._rules.ceiling * LEAST_GAIN

    def shorten(self) -> None:
        """Old reasoning, repeated reads and old results, down to the target."""
        found = shortening(
            self._window.units,
            self._window.prompt,
            float("inf") if self._thorough else self._excess(self._rules.target),
            self._rules.elide_over_chars,
            self._rules.can_recall,
        )
        self._do(Compaction("", found.thoughts, found.repeated, found.results))

    def covered(self) -> Sequence[Message]:
        """The messages that a summary should stand for, an earlier summary among them; none when none is wanted."""
        return [message for unit in self._coverable() for message in unit.messages] if self._rules.summarizes else []

    def summarize(self, text: str) -> bool:
        """Let `text` stand for these messages; False when it is none, or not shorter than they are."""
        units = self._coverable()
        text = text.strip()
        if len(text) > self._rules.summary_room:
            text = f"{text[: self._rules.summary_room]} […]"
        if not text or as_unit(text).size >= sum(unit.size for unit in units):
            return False
        names = tuple(message.id for unit in units for message in unit.messages)
        self._do(Compaction("", covered=names, summary=text))
        return True

    def drop(self) -> None:
        """Above the trigger: the oldest units, down to the target. The newest prompt stays in any case,

        a summary and the newest round as long as the request is not above the ceiling.
        """
        if self._excess(self._rules.trigger) > 0:
            self._drop(oldest(self._window.units, self._excess(self._rules.target), but=self._kept()))
            self._drop(self._headless())
        if self._excess(self._rules.ceiling) > 0 and (last := self._last_round()):
            self._last_was_touched = True
            self._shorten(last)
        for unit in self._kept():
            if unit is not self._window.prompt and self._excess(self._rules.ceiling) > 0:
                self._drop((unit,))

    @property
    def _estimate(self) -> int:
        return tokens(self._window.characters + self._extra, self._factor)

    def _excess(self, limit: float) -> int:
        return self._window.excess(limit, self._extra, self._factor)

    def _coverable(self) -> tuple[Unit, ...]:
        """The oldest units, enough to reach the target with a summary in their place; an earlier one goes with them."""
        units, summary = self._window.units, self._summary()
        if self._thorough:
            at = next((at for at, unit in enumerate(units) if unit is self._window.prompt), len(units))
            return tuple(units[:at])
        excess = self._excess(self._rules.target)
        if excess <= 0:
            return ()
        but = [unit for unit in self._kept() if unit is not summary]
        chosen = oldest(units, excess + self._rules.summary_room, but=but)
        return chosen if summary is None or summary in chosen else (*chosen, summary)

    def _headless(self) -> tuple[Unit, ...]:
        """What is left of a turn whose prompt is gone: some providers want a prompt first."""
        kept = self._kept()
        return tuple(itertools.takewhile(lambda unit: unit not in kept and not unit.is_prompt, self._window.units))

    def _kept(self) -> tuple[Unit, ...]:
        """What goes last, in this order."""
        kept = (self._summary(), self._last_round(), self._window.prompt)
        return tuple(unit for unit in kept if unit is not None and not unit.dropped)

    def _summary(self) -> Unit | None:
        return next((unit for unit in self._window.units if unit.messages[0].id == SUMMARY), None)

    def _last_round(self) -> Unit | None:
        """The round whose results the model has not seen yet."""
        last = self._window.units[-1] if self._window.units else None
        return last if last is not None and last.is_round else None

    def _shorten(self, unit: Unit) -> None:
        for name, _ in largest([unit], 0, self._rules.can_recall):
            if self._excess(self._rules.ceiling) <= 0:
                return
            self._do(Compaction("", results=(name,)))

    def _drop(self, units: Sequence[Unit]) -> None:
        self._do(Compaction("", dropped=tuple(message.id for unit in units for message in unit.messages)))

    def _do(self, more: Compaction) -> None:
        self._window.apply(more)
        done = self.record
        self.record = structs.replace(
            done,
            thoughts=done.thoughts + more.thoughts,
            repeated=done.repeated + more.repeated,
            results=done.results + more.results,
            covered=done.covered + more.covered,
            summary=more.summary or done.summary,
            dropped=done.dropped + more.dropped,
            after=self._estimate,
        )
