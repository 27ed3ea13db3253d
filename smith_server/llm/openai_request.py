"""A `Request` as the body of an OpenAI Chat Completions request."""

from base64 import b64encode
from collections.abc import Collection
from typing import Any

from smith_server.core.messages import AssistantMessage, Call, Message, Thinking, ToolMessage, ToolSpec, UserMessage
from smith_server.core.ports import Request
from smith_server.llm.loose_json import encode
from smith_server.llm.presets import Preset
from smith_server.llm.replay import Target
from smith_server.llm.transcript import Transcripts

_KEPT = {"type": "ephemeral"}


class OpenAIEncoder:
    """Encodes the requests of one provider, for several conversations."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._transcripts = Transcripts(self._target, lambda first: _Shape(in_blocks=preset.marks_cache(first.model)))
        self._system: tuple[tuple[str, bool], bytes] = (("", False), b"")
        self._tools: tuple[tuple[ToolSpec, ...], bool, bytes] = ((), False, b"")

    def body(self, request: Request) -> bytes:
        """The body of `request`."""
        marked = self._preset.marks_cache(request.model)
        messages = self._transcripts.turns(request, marked=marked)
        if request.system:
            messages.insert(0, self._system_message(request.system, marked))
        return b'{"model":%b,"messages":[%b]%b%b}' % (
            encode(request.model or self._preset.default_model),
            b",".join(messages),
            self._tool_list(request.tools, marked),
            self._options(request),
        )

    def call_ids(self, request: Request) -> Collection[str]:
        """The ids of all calls in a request whose body was made just before."""
        return self._transcripts.call_ids(request)

    def _target(self, first: Request) -> Target:
        preset = self._preset
        flags = preset.compat
        images = preset.images and first.images
        return Target(preset.issuer, first.model, "any", flags.longest_call_id, flags.returns, images)

    def _system_message(self, system: str, marked: bool) -> bytes:
        if self._system[0] != (system, marked):
            block = {"type": "text", "text": system, "cache_control": _KEPT}
            message = {"role": "system", "content": [block] if marked else system}
            self._system = ((system, marked), encode(message))
        return self._system[1]

    def _tool_list(self, tools: tuple[ToolSpec, ...], marked: bool) -> bytes:
        if not tools:
            return b""
        known, was_marked, _ = self._tools
        if was_marked is not marked or (known is not tools and known != tools):
            shapes = [_tool(each) for each in tools]
            if marked:
                shapes[-1]["cache_control"] = _KEPT
            self._tools = (tools, marked, b',"tools":' + encode(shapes))
        return self._tools[2]

    def _options(self, request: Request) -> bytes:
        flags = self._preset.compat
        options: dict[str, Any] = {}
        if request.stream:
            options["stream"] = True
            if flags.stream_usage:
                options["stream_options"] = {"include_usage": True}
        elif flags.says_stream:
            options["stream"] = False
        if request.max_output_tokens is not None:
            options[flags.max_tokens_field] = request.max_output_tokens
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if effort := self._preset.effort:
            nested = flags.effort_field == "reasoning"
            options[flags.effort_field] = {"effort": effort} if nested else effort
        return b"," + encode(options)[1:-1] if options else b""


class _Shape:
    """Messages of this dialect. `in_blocks`: contents are lists, so that each of them can carry a mark."""

    def __init__(self, *, in_blocks: bool) -> None:
        self._in_blocks = in_blocks

    def item(self, message: Message) -> bytes:
        return encode(self._shape(message))

    def turn(self, items: bytes, *, user: bool) -> bytes:
        return items

    def _shape(self, message: Message) -> dict[str, Any]:
        match message:
            case UserMessage():
                return {"role": "user", "content": self._said(message)}
            case ToolMessage():
                return {"role": "tool", "tool_call_id": message.call_id, "content": self._content(message.content)}
            case AssistantMessage():
                return _assistant(message)

    def _said(self, message: UserMessage) -> str | list[dict[str, Any]]:
        if not message.images:
            return self._content(message.whole)
        images = [(each.media_type, b64encode(each.data).decode("ascii")) for each in message.images]
        blocks: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}} for kind, data in images
        ]
        return [*blocks, *([_text(message.whole)] if message.whole.strip() else [])]

    def _content(self, text: str) -> str | list[dict[str, Any]]:
        return [_text(text or " ")] if self._in_blocks else text


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    """Null content only beside calls: alone it would be refused in every request from here on."""
    text, calls = message.text, message.calls
    shape: dict[str, Any] = {"role": "assistant", "content": text if text.strip() or not calls else None}
    shape.update(_reasoning(message))
    if calls:
        shape["tool_calls"] = [_call(call) for call in calls]
    return shape


def _reasoning(message: AssistantMessage) -> dict[str, Any]:
    """The reasoning that goes back, under the names it came by."""
    fields: dict[str, Any] = {}
    for part in message.parts:
        if isinstance(part, Thinking):
            for name, value in part.replay.items():
                fields[name] = fields[name] + value if name in fields else value
    if "reasoning_details" in fields:
        fields.pop("reasoning", None)
    return fields


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    shape: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if "extra_content" in call.extra:
        shape["extra_content"] = call.extra["extra_content"]
    return shape


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = spec.schema or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": schema},
    }
