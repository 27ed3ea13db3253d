"""A `Request` as the body of an Anthropic Messages request."""

from base64 import b64encode
from collections.abc import Collection
from typing import Any

import msgspec

from smith_server.core.errors import failure
from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from smith_server.core.ports import Request
from smith_server.llm.loose_json import encode
from smith_server.llm.presets import Preset, ThinkingBudget, ThinkingEffort
from smith_server.llm.replay import Target
from smith_server.llm.transcript import Transcripts

ROOM = 8192
"""Tokens of an answer when nothing else is set; reasoning with a budget comes on top."""

_LONGEST_ID = 64
_KEPT = {"type": "ephemeral"}
_SILENCE = "(no output)"


class AnthropicEncoder:
    """Encodes the requests of one provider, for several conversations."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._transcripts = Transcripts(self._target, lambda first: _Shape())
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def body(self, request: Request) -> bytes:
        """The body of `request`.

        Raises `AgentFailure` (`schema`, `thinking_budget`) when the budget leaves no room for an answer.
        """
        turns = self._transcripts.turns(request, marked=self._preset.cache)
        return b'{"model":%b,%b%b%b,"messages":[%b]}' % (
            encode(request.model or self._preset.default_model),
            encode(self._options(request))[1:-1],
            self._system(request.system),
            self._tool_list(request.tools),
            b",".join(turns),
        )

    def call_ids(self, request: Request) -> Collection[str]:
        """The ids of all calls in a request whose body was made just before."""
        return self._transcripts.call_ids(request)

    def _target(self, first: Request) -> Target:
        images = self._preset.images and first.images
        return Target(self._preset.issuer, first.model, "word", _LONGEST_ID, images=images)

    def _options(self, request: Request) -> dict[str, Any]:
        thinking = self._thinking(request)
        budget = thinking.budget if isinstance(thinking, ThinkingBudget) else 0
        most = request.max_output_tokens or budget + ROOM
        if budget >= most:
            text = (
                f"A thinking budget of {budget} tokens leaves nothing of the {most} tokens of an answer. Raise "
                "`providers.anthropic.max_output_tokens`, or lower `providers.anthropic.thinking_budget`."
            )
            raise failure("schema", "thinking_budget", text)
        options: dict[str, Any] = {"max_tokens": most}
        if request.stream:
            options["stream"] = True
        match thinking:
            case ThinkingEffort(effort):
                options["thinking"] = {"type": "adaptive", "display": "summarized"}
                options["output_config"] = {"effort": effort}
            case ThinkingBudget(budget):
                options["thinking"] = {"type": "enabled", "budget_tokens": budget}
            case None if request.temperature is not None:
                options["temperature"] = min(1.0, request.temperature)
        return options

    def _thinking(self, request: Request) -> ThinkingEffort | ThinkingBudget | None:
        """With a budget, replies of the tool loop at hand that begin without reasoning would be refused."""
        thinking = self._preset.thinking
        if isinstance(thinking, ThinkingBudget) and not self._transcripts.is_signed(request):
            return None
        return thinking

    def _system(self, system: str) -> bytes:
        if not system.strip():
            return b""
        block = {"type": "text", "text": system, "cache_control": _KEPT}
        return b',"system":' + encode([block] if self._preset.cache else system)

    def _tool_list(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if not tools:
            return b""
        if self._tools[0] is not tools and self._tools[0] != tools:
            shapes = [_tool(each) for each in tools]
            if self._preset.cache:
                shapes[-1]["cache_control"] = _KEPT
            self._tools = (tools, b',"tools":' + encode(shapes))
        return self._tools[1]


class _Shape:
    """Messages of this dialect: what is said in one turn are blocks of one message."""

    def item(self, message: Message) -> bytes:
        return encode(_blocks(message))[1:-1]

    def turn(self, items: bytes, *, user: bool) -> bytes:
        return b'{"role":"%b","content":[%b]}' % (b"user" if user else b"assistant", items)


def _blocks(message: Message) -> list[dict[str, Any]]:
    match message:
        case UserMessage(images=images):
            said = [{"type": "text", "text": message.whole}] if message.whole.strip() else []
            return [*map(_image, images), *said]
        case ToolMessage():
            return [_result(message)]
        case AssistantMessage(parts=parts):
            return [block for part in parts if (block := _block(part)) is not None]


def _image(image: Image) -> dict[str, Any]:
    data = b64encode(image.data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}


def _result(message: ToolMessage) -> dict[str, Any]:
    content = message.content if message.content.strip() else _SILENCE
    shape: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id, "content": content}
    return shape if message.ok else {**shape, "is_error": True}


def _block(part: Part) -> dict[str, Any] | None:
    """A part of a reply; blank text is refused by the provider."""
    match part:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking(replay=replay):
            return replay
        case Call():
            arguments = msgspec.Raw(part.arguments.encode())
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = spec.schema or {"type": "object", "properties": {}}
    return {"name": spec.name, "description": spec.description, "input_schema": schema}
