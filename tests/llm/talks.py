"""Conversations as they are sent: the common cases, for any provider."""

import json
from typing import Any

import msgspec

from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Image,
    Message,
    Text,
    Thinking,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from smith_server.core.ports import Request
from smith_server.core.window import Window, WindowRules
from smith_server.llm.dialects import DIALECTS
from smith_server.llm.presets import PRESETS, Preset, ThinkingEffort

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSpec("read", "Read a file.", SCHEMA), ToolSpec("list", "List files."))
ASK = UserMessage("t1.1", "What is in a.py?")
SYSTEM = "Be brief."
LONG = "functions.read:0/" + "x" * 60

SOURCES: dict[str, Preset] = {
    **PRESETS,
    "custom": Preset("custom", "http://maker.test/v1", compat=PRESETS["custom"].compat),
    "openrouter-claude": PRESETS["openrouter"],
}
"""Each provider under its name; a relay twice, since it treats some models like their maker."""


def model_of(source: str) -> str:
    return "anthropic/claude" if source == "openrouter-claude" else "m"


def round_of(*calls: Call, before: tuple[Any, ...] = (), model: str = "m", at: str = "t1") -> tuple[Message, ...]:
    results = [ToolMessage(f"r{call.id}", call.id, call.name, f"result of {call.id}") for call in calls]
    return (AssistantMessage(f"{at}.2", (*before, *calls), model, "tool_use"), *results)


def reasoning(preset: Preset, model: str = "m") -> tuple[Message, ...]:
    """A round with all that a provider of this dialect wants back."""
    if preset.dialect == "anthropic":
        first = Thinking("hm", preset.issuer, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
        hidden = Thinking("", preset.issuer, {"type": "redacted_thinking", "data": "b3Bh"})
        return (ASK, *round_of(Call("a", "read", '{"path":"a.py"}'), before=(first, hidden, Text("So.")), model=model))
    fields: dict[str, Any] = {
        "reasoning_content": "hm",
        "reasoning": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "QUJD"}],
    }
    thoughts = tuple(Thinking("hm", preset.issuer, {name: fields[name]}) for name in fields)
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}, "issuer": preset.issuer}
    return (ASK, *round_of(Call("a", "read", '{"path":"a.py"}', extra), before=thoughts, model=model))


def long_talk(model: str) -> tuple[Message, ...]:
    """Three rounds and a second prompt."""
    rounds = [round_of(Call(f"c{at}", "read", '{"path":"a.py"}'), model=model, at=f"t1{at}") for at in range(3)]
    ended = AssistantMessage("t19.2", (Text("It says x."),), model)
    return (ASK, *(message for each in rounds for message in each), ended, UserMessage("t20.1", "And b.py?"))


def windowed(model: str) -> tuple[Message, ...]:
    """What is left of a long conversation when there is room for its end only."""
    rules = WindowRules(keep_rounds=1, elide_over_chars=4, elide_step=1, elide_min_gain_pct=0, context_window=45)
    big = [
        msgspec.structs.replace(each, content=each.content * 9) if isinstance(each, ToolMessage) else each
        for each in long_talk(model)
    ]
    return Window(rules).view(big).messages


def requests(source: str) -> dict[str, Request]:
    """One request for each case, by its name."""
    preset, model = SOURCES[source], model_of(source)
    parallel = (Call("a", "read", '{"path":"a.py"}'), Call("b", "list"))
    broken = tuple(
        Call(f"x{at}", "read", text) for at, text in enumerate(['{"path": ', "[1]", "", '"{\\"path\\":\\"a\\"}"'])
    )
    picture = UserMessage("t1.1", "What is this?", images=(Image("image/png", b"\x89PNG"),))
    other = SOURCES["anthropic" if preset.dialect == "openai" else "openrouter"]
    switched = (*reasoning(other, "other"), *round_of(Call(LONG, "read"), model="other", at="t2"))
    return {
        "plain": Request(model, SYSTEM, (ASK,)),
        "tools": Request(model, SYSTEM, (ASK, *round_of(parallel[0], before=(Text("Let me look."),))), TOOLS),
        "parallel": Request(model, "", (ASK, *round_of(*parallel)), TOOLS),
        "invalid_arguments": Request(model, "", (ASK, *round_of(*broken))),
        "thinking": Request(model, SYSTEM, reasoning(preset, model), TOOLS, 4096, 0.5),
        "cached": Request(model, SYSTEM, long_talk(model), TOOLS),
        "images": Request(model, "", (picture,)),
        "compacted": Request(model, SYSTEM, windowed(model), TOOLS),
        "switched": Request(model, SYSTEM, switched, TOOLS),
        "whole": Request(model, "", (ASK,), (), 4096, 0.5, stream=False),
    }


def settled(source: str, case: str) -> Preset:
    """The provider with the settings of a case."""
    preset = SOURCES[source]
    if case != "thinking":
        return preset
    return msgspec.structs.replace(preset, effort="low", thinking=ThinkingEffort("low"))


def body_of(preset: Preset, request: Request) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DIALECTS[preset.dialect].encoder(preset).body(request))
    return found


def sent(preset: Preset, *messages: Message, model: str = "m", **more: Any) -> list[dict[str, Any]]:
    """The messages of a request as they are sent."""
    found: list[dict[str, Any]] = body_of(preset, Request(model, "", messages, **more))["messages"]
    return found
