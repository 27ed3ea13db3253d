"""When a failed or empty answer is asked for again, and after how long. Pure: whoever asks also waits.

Two layers, one in the other: an attempt that broke off is repeated (transport), an answer with
neither text nor call is asked for anew with fresh attempts (empty). With two repeats each that is
nine attempts at most.

    of a failed attempt was shown     a passing error                  any other
    nothing                           after a wait                     never
    thinking alone                    once, what was shown is void     never
    text, or part of a call           only with `after_output`         never

A stall is repeated once per prompt, whatever the counts say.

What these rules say is the least that is waited. Of the transport's waits `Retries` makes some more, so that
children who were refused at one moment do not come back at one moment.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from smith_server.core.errors import AgentError, agent_error, is_retryable
from smith_server.core.messages import Call, joined_text
from smith_server.core.ports import Chance, Done, Failed, no_chance
from smith_server.llm.assemble import Output

MOST_WAIT = 60.0
"""Seconds that a server may make us wait."""

MOST_MORE = 0.25
"""At most this part of a wait is added to it."""

_EMPTY = "The model answered with neither text nor a tool call. Send the prompt again."


class RetryRules(Struct, frozen=True):
    """How often and after which waits (milliseconds; the last one repeats) each layer tries again.

    `after_output`: also when text was already shown.
    """

    transport_most: float = 2
    transport_waits: tuple[float, ...] = (2000, 8000)
    empty_most: float = 2
    empty_waits: tuple[float, ...] = (500, 1000)
    after_output: bool = False


class Facts(Struct, frozen=True):
    """What decides about a failed attempt: whether it may pass by itself, whether it was a stall, the
    weightiest thing that was shown of it, and the seconds that the server asked for.
    """

    passing: bool
    stalled: bool = False
    output: Output = "none"
    retry_after: float | None = None


class Course(Struct, frozen=True):
    """How far the retries of a prompt have come.

    Of the request at hand: `attempts` made, repeats in either layer, and whether one followed on
    thinking alone. Of the whole prompt: whether a stall was repeated.
    """

    attempts: int = 1
    transport: int = 0
    empty: int = 0
    thought: bool = False
    stalled: bool = False


class Again(Struct, frozen=True):
    """The next attempt: its number, after how many seconds, in which layer, because of what.

    With `discard_output` what was shown of the last attempt is void.
    """

    layer: Literal["transport", "empty"]
    attempt: int
    delay: float
    error: AgentError
    discard_output: bool

    @property
    def delay_ms(self) -> int:
        return round(self.delay * 1000)


class Retries:
    """The retries of one prompt: `begin` each request, then ask `after` each answer.

    `chance` decides how much longer than the rules say the transport waits.
    """

    def __init__(self, rules: RetryRules, chance: Chance = no_chance) -> None:
        self._rules = rules
        self._chance = chance
        self._course = Course()

    def begin(self) -> None:
        """A new request of the same prompt."""
        self._course = Course(stalled=self._course.stalled)

    def after(self, answer: Done | Failed) -> Again | None:
        """The attempt to make after `answer`, or None when the answer stands."""
        found = next_attempt(answer, self._course, self._rules)
        if found is None:
            return None
        again, self._course = found
        if again.layer == "empty":
            return again
        return replace(again, delay=lengthened(again.delay, answer, self._chance()))


def next_attempt(answer: Done | Failed, course: Course, rules: RetryRules) -> tuple[Again, Course] | None:
    """The attempt to make after `answer` and how far the retries have come then; None when it stands."""
    if isinstance(answer, Failed):
        return _after_failure(answer, course, rules)
    return _after_silence(answer, course, rules) if is_empty(answer) else None


def next_delay(facts: Facts, course: Course, rules: RetryRules) -> float | None:
    """Seconds to wait before a failed attempt is repeated, or None when it is not."""
    if not facts.passing or course.transport >= int(rules.transport_most):
        return None
    if facts.stalled and course.stalled:
        return None
    if not _may_be_voided(facts.output, course, rules):
        return None
    if facts.retry_after is not None:
        return min(facts.retry_after, MOST_WAIT)
    return _wait(rules.transport_waits, course.transport)


def lengthened(delay: float, answer: Done | Failed, chance: float) -> float:
    """`delay` and `chance` (0 to 1) of what may be added; one that the server asked for is `MOST_WAIT` at most."""
    longer = delay * (1 + MOST_MORE * chance)
    asked_for = isinstance(answer, Failed) and answer.retry_after is not None
    return min(longer, MOST_WAIT) if asked_for else longer


def facts_of(failed: Failed) -> Facts:
    """The facts of a failed attempt. Its error says whether to send the same again after nothing was
    shown; after more was, kind and code still tell whether it passes.
    """
    error = failed.error
    output: Output = error.data.get("output", "none")
    passing = error.retryable or (output != "none" and is_retryable(error.kind, error.code))
    return Facts(passing, error.code == "stall_timeout", output, failed.retry_after)


def is_empty(done: Done) -> bool:
    """An answer that came to its end and says nothing; reasoning and blanks say nothing."""
    if done.paused or done.stop not in ("stop", "tool_use"):
        return False
    return not joined_text(done.parts).strip() and not any(isinstance(part, Call) for part in done.parts)


def _may_be_voided(output: Output, course: Course, rules: RetryRules) -> bool:
    """Whether what was shown may be taken back."""
    if output == "none" or rules.after_output:
        return True
    return output == "thinking" and not course.thought


def _after_failure(failed: Failed, course: Course, rules: RetryRules) -> tuple[Again, Course] | None:
    facts = facts_of(failed)
    delay = next_delay(facts, course, rules)
    if delay is None:
        return None
    shown = facts.output != "none"
    further = replace(
        course,
        attempts=course.attempts + 1,
        transport=course.transport + 1,
        thought=course.thought or facts.output == "thinking",
        stalled=course.stalled or facts.stalled,
    )
    return Again("transport", further.attempts, delay, failed.error, shown), further


def _after_silence(done: Done, course: Course, rules: RetryRules) -> tuple[Again, Course] | None:
    if course.empty >= int(rules.empty_most):
        return None
    further = replace(course, attempts=course.attempts + 1, transport=0, empty=course.empty + 1)
    delay = _wait(rules.empty_waits, course.empty)
    return Again("empty", further.attempts, delay, _silence(), bool(done.parts)), further


def _silence() -> AgentError:
    return agent_error("protocol", "empty_response", _EMPTY)


def _wait(waits: Sequence[float], repeat: int) -> float:
    return waits[min(repeat, len(waits) - 1)] / 1000 if waits else 0.0
