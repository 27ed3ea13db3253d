"""Recorded events of whole turns, as the runtime would tell them."""

import json
from pathlib import Path
from typing import Any

import msgspec

from smith_server.core import events
from smith_server.core.events import Envelope, Event
from smith_server.core.messages import AssistantMessage, Text, UserMessage

TURNS = sorted((Path(__file__).resolve().parents[1] / "golden" / "turns").glob("*.jsonl"))

KINDS: Any = tuple(kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event))
TAGS = {kind.__struct_config__.tag: kind for kind in KINDS if kind is not Event}


def recorded(path: Path) -> list[Envelope]:
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [envelope for envelope in map(as_envelope, lines) if envelope is not None]


def as_envelope(body: dict[str, Any]) -> Envelope | None:
    kind = TAGS.get(body["kind"])
    if kind is None:
        return None
    if kind is events.MessageAdded:
        said = body["message"]
        text = said.get("text", "")
        made: Any = (
            UserMessage(said["id"], text) if said["role"] == "user" else AssistantMessage(said["id"], (Text(text),))
        )
        event: Event = events.MessageAdded(made)
    else:
        event = msgspec.convert({"message": ""} | body if kind is events.RequestRetried else body, kind)
    return Envelope(
        body["conversation"],
        body["turn"],
        event,
        *(body.get(name, "") for name in ("job", "call", "role", "parent")),
    )
