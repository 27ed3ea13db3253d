"""Events as lines for people: the answer as it comes, what happens beside it as notes."""

from smith_server.cli.streams import Output
from smith_server.core.events import (
    CallFinished,
    CallStarted,
    CompactionStarted,
    ContextCompacted,
    DispatchFinished,
    DispatchStarted,
    Envelope,
    ErrorReported,
    Event,
    JobEnded,
    Notice,
    OutputDelta,
    PersistenceFailed,
    PromptDropped,
    PromptQueued,
    RequestRetried,
    ResponseContinued,
    TodosUpdated,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
)
from smith_server.core.todos import in_words

_MOST_ARGUMENTS = 160


class Printer:
    """A listener of the bus that prints."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def take(self, envelope: Envelope) -> None:
        """Print an event; of a child only the begin and the end."""
        if envelope.job:
            return
        match envelope.event:
            case DispatchStarted(_, role, task):
                self._output.note(f"· {role}: {_line(task)}")
            case DispatchFinished(_, role, status, summary):
                self._output.note(f"  {role} {status}: {_line(summary)}")
            case OutputDelta(_, text):
                self._output.answer(text)
            case CallStarted(_, name, arguments):
                self._output.note(f"· {name} {_line(arguments)}")
            case CallFinished() as event:
                self._output.note(f"  {event.summary}")
            case event if text := trouble(event) or _news(event):
                self._output.note(text)
            case TurnCompleted():
                self._output.end_line()


def trouble(event: Event) -> str:
    """What a person has to hear of an event wherever the answer goes, or ""."""
    match event:
        case Notice(_, text):
            return f"smith: {text}"
        case PersistenceFailed(error) | TurnFailed(error) | ErrorReported(error):
            return f"smith: {error.message}"
        case RequestRetried(attempt=attempt, delay_ms=delay_ms, error=error):
            return f"smith: {error.message} Attempt {attempt} in {delay_ms / 1000:g} s."
        case ResponseContinued(attempt, paused=paused):
            why = "the provider paused the answer" if paused else "the answer reached the output limit"
            return f"smith: {why}; going on ({attempt})."
        case PromptQueued():
            return "smith: the prompt waits for the running turn."
        case PromptDropped(_, text):
            return f"smith: not sent: {text}"
        case CompactionStarted():
            return "smith: compacting the conversation …"
        case ContextCompacted(steps=steps, before=before, after=after) if steps:
            return f"smith: compacted from {before:,} to {after:,} tokens ({', '.join(steps)})."
        case TurnCancelled():
            return "smith: stopped."
        case _:
            return ""


def _news(event: Event) -> str:
    """What happens beside the answer."""
    match event:
        case TodosUpdated(todos):
            return in_words(todos)
        case JobEnded(id, state):
            return f"  {id} {state.replace('_', ' ')}"
        case _:
            return ""


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MOST_ARGUMENTS else f"{words[: _MOST_ARGUMENTS - 1]}…"
