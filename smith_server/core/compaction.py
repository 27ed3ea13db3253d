"""What a compaction leaves out of the requests, as a record that makes the same view again. Pure.

In this order: reasoning of finished turns, reads that were repeated later, the largest old results,
then the oldest units, for which a summary may stand.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from smith_server.core.estimate import characters
from smith_server.core.messages import AssistantMessage, Call, Message, Thinking, ToolMessage, UserMessage
from smith_server.core.rounds import Unit, stand_in

Rewriting = Literal["thoughts", "repeated", "results"]

SUMMARY = "summary"
"""The id of the message that a summary is sent as; it is part of views, never of a transcript."""

REPEATED = "[left out: the same call was made again later; see the newer output]"

_HEAD = "[Summary of the earlier part of this conversation, which is no longer shown:]\n\n"
_LOOKS = frozenset({"read", "code_map", "code_grep", "code_files", "code_symbols", "code_outline"})


class Compaction(Struct, frozen=True, omit_defaults=True):
    """One compaction, made when `upto` was the newest message. Messages are named by id.

    Left out are the reasoning in `thoughts`, the output of `repeated` and of `results`, and whole
    units: those `covered` by `summary`, which replaces an earlier one, and those `dropped`.
    `before` and `after` are the estimates of the request in tokens.
    """

    upto: str
    thoughts: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    summary: str = ""
    dropped: tuple[str, ...] = ()
    before: int = 0
    after: int = 0

    @property
    def steps(self) -> tuple[str, ...]:
        """What was done, in order: `thinking`, `repeated`, `results`, `summary`, `dropped`."""
        done = (
            ("thinking", self.thoughts),
            ("repeated", self.repeated),
            ("results", self.results),
            ("summary", self.covered),
            ("dropped", self.dropped),
        )
        return tuple(name for name, ids in done if ids)


class Shortening(Struct, frozen=True):
    """Ids of messages that are sent shorter; see `Compaction`."""

    thoughts: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def shortening(units: Sequence[Unit], prompt: Unit | None, excess: float, over: int, can_recall: bool) -> Shortening:
    """What to shorten to free `excess` characters, or as much of it as there is.

    Reasoning after the newest `prompt` stays: its provider wants it back until the turn is over.
    Results stay in the newest rounds, and where they have no more than `over` characters.
    """
    thoughts, excess = _enough(_thoughts(units, prompt), excess)
    repeated, excess = _enough(_repeated(units), excess)
    old = [unit for unit in units if unit.is_old]
    results, _ = _enough(largest(old, over, can_recall, but=repeated), excess)
    return Shortening(thoughts, repeated, results)


def largest(units: Iterable[Unit], over: int, can_recall: bool, but: Collection[str] = ()) -> Sequence[tuple[str, int]]:
    """Results of more than `over` characters, the one that frees most first: id, characters freed."""
    found = [
        (result.id, len(result.content) - len(stand_in(result, can_recall)))
        for unit in units
        for _, result in unit.untouched()
        if isinstance(result, ToolMessage) and len(result.content) > over and result.id not in but
    ]
    return sorted(((name, gain) for name, gain in found if gain > 0), key=lambda each: -each[1])


def oldest(units: Iterable[Unit], excess: float, but: Collection[Unit] = ()) -> tuple[Unit, ...]:
    """The oldest units that have `excess` characters together, without those in `but`."""
    chosen: list[Unit] = []
    for unit in units:
        if excess <= 0:
            break
        if unit not in but:
            chosen.append(unit)
            excess -= unit.size
    return tuple(chosen)


def rewrites(record: Compaction) -> Mapping[str, Rewriting]:
    """What becomes of the messages that `record` shortens, by id."""
    groups: tuple[tuple[Rewriting, tuple[str, ...]], ...] = (
        ("thoughts", record.thoughts),
        ("results", record.results),
        ("repeated", record.repeated),
    )
    return {name: how for how, names in groups for name in names}


def rewrite(unit: Unit, how: Mapping[str, Rewriting], can_recall: bool) -> int:
    """Send the messages of `unit` shortened as `how` says; how many results are elided by that."""
    elided = 0
    for at, message in list(unit.untouched()):
        match message, how.get(message.id):
            case AssistantMessage(), "thoughts":
                unit.replace(at, without_thinking(message))
            case ToolMessage(), "repeated":
                unit.replace(at, structs.replace(message, content=REPEATED))
                elided += 1
            case ToolMessage(), "results":
                unit.replace(at, structs.replace(message, content=stand_in(message, can_recall)))
                elided += 1
    return elided


def as_unit(summary: str) -> Unit:
    """What is sent in the place of what a summary covers."""
    return Unit(UserMessage(SUMMARY, _HEAD + summary))


def is_summary(message: Message) -> bool:
    """Whether a message of a view is a summary and not part of the transcript."""
    return message.id == SUMMARY


def without_thinking(message: AssistantMessage) -> AssistantMessage:
    """`message` without its reasoning; unchanged where nothing would be left."""
    kept = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return structs.replace(message, parts=kept) if kept else message


def _enough(candidates: Iterable[tuple[str, int]], excess: float) -> tuple[tuple[str, ...], float]:
    """Candidates in their order until `excess` is freed; what is left of it."""
    taken: list[str] = []
    for name, gain in candidates:
        if excess <= 0:
            break
        taken.append(name)
        excess -= gain
    return tuple(taken), excess


def _thoughts(units: Iterable[Unit], prompt: Unit | None) -> Iterator[tuple[str, int]]:
    """Replies in front of `prompt` whose reasoning is sent."""
    finished = itertools.takewhile(lambda unit: unit is not prompt, units)
    for _, message in itertools.chain.from_iterable(unit.untouched() for unit in finished):
        if isinstance(message, AssistantMessage):
            gain = characters(message) - characters(without_thinking(message))
            if gain > 0:
                yield message.id, gain


def _repeated(units: Sequence[Unit]) -> Iterator[tuple[str, int]]:
    """Old results of calls that only look, and that were made again with the same arguments."""
    newest = {_look(call): result.id for unit in units for call, result in _looks(unit)}
    for unit in units:
        if not unit.is_old:
            continue
        untouched = {message.id for _, message in unit.untouched()}
        for call, result in _looks(unit):
            gain = len(result.content) - len(REPEATED)
            if newest[_look(call)] != result.id and result.id in untouched and gain > 0:
                yield result.id, gain


def _looks(unit: Unit) -> Iterator[tuple[Call, ToolMessage]]:
    reply = unit.messages[0]
    if not isinstance(reply, AssistantMessage):
        return
    calls = {call.id: call for call in reply.calls if call.name in _LOOKS}
    for message in unit.messages[1:]:
        if isinstance(message, ToolMessage) and message.ok and message.call_id in calls:
            yield calls[message.call_id], message


def _look(call: Call) -> tuple[str, str]:
    return call.name, call.arguments
