"""What goes on beside the answer, in words for one quiet line. Every face says the same; see `tests/golden/turns`."""

from smith_server.core.events import ContextCompacted, Event, JobEnded, JobStarted, ResponseContinued
from smith_server.core.todos import Todo, in_words

COMPACTING = "compacting the conversation …"
NOT_COMPACTED = "the conversation was not compacted"
ELSEWHERE = "This conversation is open elsewhere ({}) and is shown read-only; {} go on with it."
RELEASED = "Nobody else has this conversation open any more."
DELETED = "This conversation was deleted."
NO_PLAN = "nothing is planned any more"


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
