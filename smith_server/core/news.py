"""What happens beside the answer, in words for a person. Every face says the same; see `tests/golden/turns`."""

from collections.abc import Mapping
from typing import Any

from smith_server.core import events as on
from smith_server.core.events import ContextCompacted, Event, JobEnded, JobStarted, ResponseContinued
from smith_server.core.todos import Todo, in_words

COMPACTING = "compacting the conversation …"
NOT_COMPACTED = "the conversation was not compacted"
_ELSEWHERE = "This conversation is open elsewhere ({}) and is shown read-only; {} go on with it."
RELEASED = "Nobody else has this conversation open any more."
DELETED = "This conversation was deleted."
NO_PLAN = "nothing is planned any more"
EXHAUSTED = "Stopped: the budget of this turn is used up."


def said(event: Event) -> str:
    """One event in words, "" when there is nothing to say."""
    match event:
        case ResponseContinued(attempt, dropped, paused):
            why = "the provider paused the answer" if paused else "the answer reached the output limit"
            calls = "; its calls were dropped, the limit may have cut them" if dropped else ""
            return f"{why}; going on ({attempt}){calls}"
        case ContextCompacted(steps=steps, before=before, after=after):
            sizes = f"from {tokens(before)} to {tokens(after)} tokens"
            return f"compacted {sizes} ({', '.join(steps)})" if steps else NOT_COMPACTED
        case JobStarted(id, command):
            return f"{id} runs in the background: {command.strip().partition(chr(10))[0]}"
        case JobEnded(id, seconds=seconds):
            return f"{id} {_ended(event)} ({seconds:.1f} s)"
        case _:
            return ""


def told(event: Event) -> tuple[str, str]:
    """What a person has to hear of an event whatever else is shown: how grave it is (`info`, `warning`, `error`), and
    the words; both "" for most events."""
    match event:
        case on.Notice(level, text):
            return level, text
        case on.TurnFailed(error) | on.ErrorReported(error) | on.SessionFailed(error):
            return "error", error.message
        case on.PersistenceFailed(error):
            return "warning", f"Not stored: {error.message}"
        case on.TurnCompleted(stop_reason="budget_exhausted"):
            return "warning", EXHAUSTED
        case on.TurnCancelled():
            return "info", "Cancelled."
        case on.PromptDropped(_, text):
            return "info", f"not sent: {text}"
        case on.ConversationChanged(change="released"):
            return "info", RELEASED
        case on.ConversationChanged(change="deleted"):
            return "warning", DELETED
        case _:
            return "", ""


def again(text: str) -> str:
    """What was told in full before, in one line."""
    return f"{text.partition(chr(10))[0].partition('. ')[0].rstrip('.:')}; see above."


def elsewhere(holder: Mapping[str, Any], ways: str = "/take-over and /fork") -> str:
    """That another process writes the conversation, and what to do; `holder` as in `SessionStarted`."""
    return _ELSEWHERE.format(holder.get("face") or holder.get("host", ""), ways)


def retried(event: on.RequestRetried) -> str:
    """Why a request goes out again, and when."""
    why = event.error.message.removesuffix(".")
    return f"{why}; attempt {event.attempt} in {event.delay_ms / 1000:g} s"


def plan(todos: tuple[Todo, ...]) -> str:
    """A plan as lines under a head."""
    return f"plan\n{in_words(todos)}" if todos else NO_PLAN


def tokens(count: int) -> str:
    """A number of tokens in few characters."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def _ended(event: JobEnded) -> str:
    match event.state:
        case "timed_out":
            return "ran out of time"
        case "killed":
            return "was killed"
        case _:
            return "was ended by a signal" if event.exit_code is None else f"ended with exit code {event.exit_code}"
