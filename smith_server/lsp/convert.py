"""Events as payloads on the wire: the fields of the event, and where it belongs."""

from typing import Any

import msgspec

from smith_server.core.events import ContextCompacted, Envelope, Event, MessageAdded
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, UserMessage


def payload(envelope: Envelope) -> dict[str, Any]:
    """The payload of `smith/event`, still without its sequence number."""
    event = envelope.event
    body = _body(event)
    body["conversation"] = envelope.conversation
    body["turn"] = envelope.turn
    for name in ("job", "call", "role", "parent"):
        if value := getattr(envelope, name):
            body[name] = value
    return body


def _body(event: Event) -> dict[str, Any]:
    match event:
        case MessageAdded():
            return _added(event)
        case ContextCompacted():
            return _compacted(event)
    body: dict[str, Any] = msgspec.to_builtins(event)
    return body


def _compacted(event: ContextCompacted) -> dict[str, Any]:
    """The event without what only the store has to know."""
    body: dict[str, Any] = msgspec.to_builtins(event)
    del body["record"]
    return body


def _added(event: MessageAdded) -> dict[str, Any]:
    """A message whose text was shown by deltas goes out by name; only a prompt carries its text."""
    return {"kind": "message_added", "message": message_facts(event.message)}


def message_facts(message: Message) -> dict[str, Any]:
    """A message in a few words: id, role, and what ties it to others."""
    match message:
        case UserMessage(id, text):
            return {"id": id, "role": "user", "text": "" if message.aside else text}
        case AssistantMessage(id, _, model, stop):
            calls = [{"id": call.id, "name": call.name} for call in message.calls]
            return {"id": id, "role": "assistant", "model": model, "stop": stop, "calls": calls}
        case ToolMessage(id, call_id, name, content, ok):
            return {"id": id, "role": "tool", "call_id": call_id, "name": name, "ok": ok, "size": len(content)}
