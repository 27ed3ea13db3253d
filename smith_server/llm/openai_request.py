"""A `Request` as the body of an OpenAI Chat Completions request.

Every message is encoded once: what was sent of a conversation is kept, and only what is new in it
is added. The transcript itself is never changed: what a server would refuse is put right in the
copy that is sent.
"""

import hashlib
import re
from collections.abc import Collection
from operator import is_
from typing import Any

from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.core.messages import AssistantMessage, Call, Message, Thinking, ToolMessage, ToolSpec, UserMessage
from smith_server.core.ports import Request
from smith_server.llm.assemble import read_arguments
from smith_server.llm.linkage import Linkage
from smith_server.llm.loose_json import encode
from smith_server.llm.presets import Preset

_CONVERSATIONS = 8
"""So many are kept encoded, those that were used last."""

_LONGEST_NAME = 64
_STAND_IN = b'{"role":"user","content":"[The beginning of this conversation is left out.]"}'


class _Sent(Struct, frozen=True):
    """The messages of one request, encoded and joined, and where its calls and results stand."""

    messages: tuple[Message, ...]
    data: bytes
    linkage: Linkage

    def begins(self, messages: tuple[Message, ...]) -> bool:
        """Whether `messages` are these very objects, and perhaps more."""
        return len(self.messages) <= len(messages) and all(map(is_, self.messages, messages))


class OpenAIEncoder:
    """Encodes the requests of one provider, for several conversations."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._sent: dict[tuple[int, str], _Sent] = {}
        self._system: tuple[str, bytes] = ("", b"")
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def body(self, request: Request) -> bytes:
        """The body of `request`.

        Raises `AgentFailure` (`protocol`, `unpaired_calls`) when a call lacks its result.
        """
        messages = [self._joined(request)] if request.messages else []
        if messages and not isinstance(request.messages[0], UserMessage):
            messages.insert(0, _STAND_IN)
        if request.system:
            messages.insert(0, self._system_message(request.system))
        model = encode(request.model or self._preset.default_model)
        return b'{"model":%b,"messages":[%b]%b%b}' % (
            model,
            b",".join(messages),
            self._tool_list(request.tools),
            self._options(request),
        )

    def call_ids(self, request: Request) -> Collection[str]:
        """The ids of all calls in a request whose body was made just before."""
        return self._sent[_key(request)].linkage.known if request.messages else ()

    def _joined(self, request: Request) -> bytes:
        """All messages with commas between them; those of the last request are not looked at again."""
        key = _key(request)
        sent = self._sent.pop(key, None)
        if sent is None or not sent.begins(request.messages):
            sent = _Sent((), b"", Linkage())
        pieces, problem = [sent.data] if sent.data else [], ""
        for message in request.messages[len(sent.messages) :]:
            problem = problem or sent.linkage.follow(message)
            pieces.append(encode(self._shape(message, request.model)))
        if problem := problem or sent.linkage.end():
            text = f"The conversation cannot be sent: {problem}. Start a new one with /new, or delete that message."
            raise failure("protocol", "unpaired_calls", text)
        data = b",".join(pieces)
        self._sent[key] = _Sent(request.messages, data, sent.linkage)
        if len(self._sent) > _CONVERSATIONS:
            del self._sent[next(iter(self._sent))]
        return data

    def _system_message(self, system: str) -> bytes:
        if self._system[0] != system:
            self._system = (system, encode({"role": "system", "content": system}))
        return self._system[1]

    def _tool_list(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if not tools:
            return b""
        if self._tools[0] is not tools and self._tools[0] != tools:
            self._tools = (tools, b',"tools":' + encode([_tool(each) for each in tools]))
        return self._tools[1]

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

    def _shape(self, message: Message, model: str) -> dict[str, Any]:
        match message:
            case UserMessage():
                return {"role": "user", "content": message.whole}
            case ToolMessage():
                return {"role": "tool", "tool_call_id": self._fit(message.call_id), "content": message.content}
            case AssistantMessage():
                return self._assistant(message, model)

    def _assistant(self, message: AssistantMessage, model: str) -> dict[str, Any]:
        """Null content only beside calls: alone it would be refused in every request from here on."""
        text, calls = message.text, message.calls
        shape: dict[str, Any] = {"role": "assistant", "content": text if text.strip() or not calls else None}
        own = message.model == model
        if own:
            shape.update(self._replayed(message))
        if calls:
            shape["tool_calls"] = [self._call(call, own) for call in calls]
        return shape

    def _replayed(self, message: AssistantMessage) -> dict[str, Any]:
        """Reasoning that this provider and model gave, under the names they gave it."""
        fields: dict[str, Any] = {}
        for part in message.parts:
            if not isinstance(part, Thinking) or part.provider != self._preset.issuer:
                continue
            for name, value in part.replay.items():
                if name in self._preset.compat.returns:
                    fields[name] = fields[name] + value if name in fields else value
        if "reasoning_details" in fields:
            fields.pop("reasoning", None)
        return fields

    def _call(self, call: Call, own: bool) -> dict[str, Any]:
        text, fitness = read_arguments(call.arguments)
        shape: dict[str, Any] = {
            "id": self._fit(call.id),
            "type": "function",
            "function": {"name": _legal_name(call.name), "arguments": text if fitness == "object" else "{}"},
        }
        if own and call.extra.get("issuer") == self._preset.issuer:
            shape["extra_content"] = call.extra["extra_content"]
        return shape

    def _fit(self, call_id: str) -> str:
        """An id that is too long for this vendor, as a short one that is always the same."""
        longest = self._preset.compat.longest_call_id
        if not longest or len(call_id) <= longest:
            return call_id
        return "call_" + hashlib.blake2b(call_id.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _key(request: Request) -> tuple[int, str]:
    """A conversation by its first message; what is encoded holds for one model only."""
    return id(request.messages[0]), request.model


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = spec.schema or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": schema},
    }


def _legal_name(name: str) -> str:
    """A name that was never a tool's may hold anything; servers take letters, digits, `_` and `-` only."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "unknown"
