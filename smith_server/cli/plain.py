"""Events as lines for people: the answer as it comes, what happens beside it as notes."""

from smith_server.cli.streams import Output
from smith_server.core import news
from smith_server.core.events import (
    CallFinished,
    CallStarted,
    CompactionStarted,
    ContextCompacted,
    DispatchFinished,
    DispatchStarted,
    Envelope,
    Event,
    OutputDelta,
    PromptQueued,
    RequestRetried,
    ResponseContinued,
    TodosUpdated,
    TurnCompleted,
)

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
        if isinstance(envelope.event, TurnCompleted):
            self._output.end_line()


def trouble(event: Event) -> str:
    """What a person has to hear of an event wherever the answer goes, or ""."""
    match event:
        case RequestRetried():
            text = news.retried(event)
        case PromptQueued():
            text = "the prompt waits for the running turn"
        case CompactionStarted():
            text = news.COMPACTING
        case ResponseContinued() | ContextCompacted():
            text = news.said(event)
        case _:
            text = news.told(event)[1]
    return f"smith: {text}" if text else ""


def _news(event: Event) -> str:
    """What happens beside the answer."""
    text = news.plan(event.todos) if isinstance(event, TodosUpdated) else news.said(event)
    return f"· {text}" if text else ""


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MOST_ARGUMENTS else f"{words[: _MOST_ARGUMENTS - 1]}…"
