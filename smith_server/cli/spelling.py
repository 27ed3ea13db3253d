"""Events as lines of JSON in their documented spelling, for scripts.

Every line has `type`, `conversation` and `turn`. Events that this table does not spell go out under
their own names with their own fields. The last line is always `result`.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from smith_server.cli.plain import trouble
from smith_server.cli.streams import Output
from smith_server.core.errors import AgentError
from smith_server.core.events import (
    CallFinished,
    CallStarted,
    ContextCompacted,
    Envelope,
    ErrorReported,
    Event,
    JobEnded,
    JobStarted,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    RequestRetried,
    RequestStarted,
    TurnFailed,
)
from smith_server.core.messages import AssistantMessage, Message, Text, Thinking, Usage
from smith_server.runtime.outcome import TurnOutcome

Line = dict[str, Any]


def spelled(event: Event) -> Iterator[Line]:
    """The lines of an event, without where it belongs; none for what other lines say already."""
    match event:
        case OutputDelta(_, text):
            yield {"type": "assistant_text_delta", "text": text}
        case ReasoningDelta(_, text):
            yield {"type": "thinking_delta", "text": text}
        case MessageAdded(message):
            yield from _blocks(message)
        case CallStarted(call_id, name, arguments):
            yield {"type": "tool_start", "id": call_id, "tool": name, "args": _decoded(arguments)}
        case CallFinished():
            yield _finished(event)
        case RequestRetried(layer="empty"):
            yield {"type": "empty_response"}
        case JobStarted() | JobEnded():
            yield _job(event)
        case ContextCompacted():
            yield _compacted(event)
        case TurnFailed() | ErrorReported(error=AgentError(code="max_cost")):
            yield _failed(event)
        case _:
            fields = msgspec.to_builtins(event)
            yield {"type": fields.pop("kind"), **fields}


def _failed(event: TurnFailed | ErrorReported) -> Line:
    error = event.error
    if isinstance(event, TurnFailed):
        return {"type": "turn_error", "error": error.message, "kind": error.kind, "code": error.code}
    return {"type": "budget_exceeded", **error.data}


def _job(event: JobStarted | JobEnded) -> Line:
    if isinstance(event, JobStarted):
        return {"type": "bash_job_started", "id": event.id, "command": event.command}
    by_itself = event.state == "exited" and event.exit_code is not None
    status = f"exited({event.exit_code})" if by_itself else "killed"
    return {"type": "bash_job_exited", "id": event.id, "status": status}


def result(outcome: TurnOutcome, text: str, denied: list[Line], conversation: str) -> Line:
    """The last line: what came of the run. `text` is all that the model said."""
    return {
        "type": "result",
        "text": text,
        "cost_usd": outcome.usage.known_cost,
        "usage": _usage(outcome.usage),
        "stop_reason": outcome.stop_reason,
        "denied": denied,
        "conversation": conversation,
        "turn": outcome.turn,
    }


class JsonLines:
    """A listener of the bus that prints lines of JSON. Nothing before the first request: then there is no result."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._held: list[Line] = []
        self._has_begun = False
        self._texts: list[str] = []
        self._denied: list[Line] = []

    def take(self, envelope: Envelope) -> None:
        """Print an event; trouble goes to standard error as well."""
        event = envelope.event
        if text := trouble(event):
            self._output.note(text)
        if isinstance(event, CallFinished) and event.code == "nobody_to_ask":
            self._denied.append({"id": event.call_id, "tool": event.name})
        for line in spelled(event):
            if line["type"] == "assistant_text" and not envelope.job:
                self._texts.append(line["text"])
            where = {"conversation": envelope.conversation, "turn": envelope.turn}
            self._held.append({**line, **where, **({"job": envelope.job} if envelope.job else {})})
        self._has_begun = self._has_begun or isinstance(event, RequestStarted)
        self._flush()

    def say(self, text: str) -> None:
        """Text that belongs to the result, though no model said it."""
        self._has_begun = True
        self._texts.append(text)

    def end(self, outcome: TurnOutcome, conversation: str) -> None:
        """Print the last line."""
        self._held.append(result(outcome, "".join(self._texts), self._denied, conversation))
        self._flush()

    def _flush(self) -> None:
        if self._has_begun:
            held, self._held = self._held, []
            self._output.write("".join(f"{json.dumps(line)}\n" for line in held))


def _blocks(message: Message) -> Iterator[Line]:
    if not isinstance(message, AssistantMessage):
        return
    for part in message.parts:
        match part:
            case Text(text):
                yield {"type": "assistant_text", "text": text}
            case Thinking(text):
                yield {"type": "thinking_block", "redacted": not text, "text": text}


def _compacted(event: ContextCompacted) -> Line:
    strategy = "dropped" if event.dropped else "summarized" if event.covered else "truncated" if event.steps else "none"
    sizes = {"before_tokens": event.before, "after_tokens": event.after}
    return {"type": "history_compacted", "strategy": strategy, **sizes, "steps": list(event.steps)}


def _finished(event: CallFinished) -> Line:
    fields = msgspec.to_builtins(event)
    more = {name: fields[name] for name in ("summary", "code", "diff", "mutation", "duration_ms")}
    named = {"id": event.call_id, "tool": event.name, "is_error": not event.ok, "result": event.content}
    return {"type": "tool_finished", **named, **more}


def _decoded(arguments: str) -> Any:
    """The arguments as an object; as they were written where they are no JSON."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "cache_creation_tokens": usage.cache_write,
        "cache_read_tokens": usage.cache_read,
    }
