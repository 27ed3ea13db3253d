"""A `Request` as the body of an OpenAI Chat Completions request.

Every message is encoded once and kept; a body is one join of such pieces. The transcript itself is
never changed: what a server would refuse is put right in the copy that is sent.
"""

import hashlib
import re
from typing import Any

from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.core.messages import AssistantMessage, Call, Message, Thinking, ToolMessage, ToolSpec, UserMessage
from smith_server.core.ports import Request
from smith_server.llm.assemble import read_arguments
from smith_server.llm.linkage import Linkage, calls_of
from smith_server.llm.loose_json import encode
from smith_server.llm.presets import Preset

_SLACK = 8 * 1024 * 1024
_LONGEST_NAME = 64
_STAND_IN = b'{"role":"user","content":"[The beginning of this conversation is left out.]"}'


class _Piece(Struct, frozen=True):
    """A message and its encoding; `model` is set when the encoding holds for one model only."""

    message: Message
    data: bytes
    calls: tuple[str, ...]
    answers: str
    model: str | None


class OpenAIEncoder:
    """Encodes the requests of one provider. Serves several conversations, one after the other."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset
        self._pieces: dict[int, _Piece] = {}
        self._size = 0
        self._system: tuple[str, bytes] = ("", b"")
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def body(self, request: Request) -> bytes:
        """The body of `request`.

        Raises `AgentFailure` (`protocol`, `unpaired_calls`) when a call lacks its result.
        """
        pieces = self._linked(request)
        self._keep_few(pieces)
        messages = [piece.data for piece in pieces]
        if pieces and not isinstance(pieces[0].message, UserMessage):
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

    def _linked(self, request: Request) -> list[_Piece]:
        linkage, pieces, problem = Linkage(), [], ""
        for message in request.messages:
            piece = self._piece(message, request.model)
            pieces.append(piece)
            problem = problem or (linkage.result(piece.answers) if piece.answers else linkage.calls(piece.calls))
        if problem := problem or linkage.end():
            text = f"The conversation cannot be sent: {problem}. Start a new one with /new, or delete that message."
            raise failure("protocol", "unpaired_calls", text)
        return pieces

    def _piece(self, message: Message, model: str) -> _Piece:
        found = self._pieces.get(id(message))
        if found is not None and found.message is message and found.model in (None, model):
            return found
        answers = message.call_id if isinstance(message, ToolMessage) else ""
        bound = isinstance(message, AssistantMessage) and _is_bound(message)
        data = encode(self._shape(message, model))
        piece = _Piece(message, data, calls_of(message), answers, model if bound else None)
        self._pieces[id(message)] = piece
        self._size += len(data) - (0 if found is None else len(found.data))
        return piece

    def _keep_few(self, pieces: list[_Piece]) -> None:
        """Forget messages of other conversations once they outweigh the one at hand."""
        if self._size <= _SLACK:
            return
        used = sum(len(piece.data) for piece in pieces)
        if self._size > 2 * used + _SLACK:
            self._pieces = {id(piece.message): piece for piece in pieces}
            self._size = used

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


def _is_bound(message: AssistantMessage) -> bool:
    return any(
        (isinstance(part, Thinking) and part.replay) or (isinstance(part, Call) and part.extra)
        for part in message.parts
    )


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = spec.schema or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": schema},
    }


def _legal_name(name: str) -> str:
    """A name that was never a tool's may hold anything; servers take letters, digits, `_` and `-` only."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "unknown"
