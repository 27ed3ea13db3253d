"""What a tool is: a name, a text for the model, a typed argument, one coroutine.

A tool declares its effect and asks nobody for permission; `execute` decides around it.
"""

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.messages import ToolSpec


class Effect(enum.Enum):
    """What a call can do to the world; decides what has to happen before it runs, and beside what it may run."""

    READ = "read"
    EDIT = "edit"
    EXECUTE = "execute"
    NETWORK = "network"
    TALK = "talk"
    DELEGATE = "delegate"
    REPORT = "report"

    @property
    def side_by_side(self) -> bool:
        """Whether neighbouring calls of this effect in one reply may run at the same time."""
        return self in (Effect.READ, Effect.NETWORK, Effect.DELEGATE)


class ToolContext(Struct, frozen=True):
    """What one call may know of its turn.

    `progress` takes a piece of output to show while the call runs. Relative paths are below `cwd`.
    """

    call_id: str
    token: CancelToken
    cwd: Path
    progress: Callable[[str], None]


class Preview(Struct, frozen=True):
    """What a call is about to do, for the person who is asked: one line, and a diff for edits."""

    title: str
    diff: str = ""


MutationState = Literal["none", "attempted", "unknown"]


class ToolResult(Struct, frozen=True):
    """A result with two faces: `content` for the model, `summary` and `diff` for the person.

    `touched` are files that the call wrote on disk. `mutation` says whether anything may have
    changed: `unknown` when the call was ended in the middle.
    """

    content: str
    summary: str = ""
    ok: bool = True
    code: str = ""
    diff: str = ""
    mutation: MutationState = "none"
    touched: tuple[Path, ...] = ()
    recall_key: str = ""


class LooseArguments(Struct, frozen=True):
    """Arguments that the tool itself puts right and checks: it gets the JSON object as it came.

    `schema` is what the model is told of them.
    """

    schema: dict[str, Any]


class Tool(Protocol):
    """One thing the model can do. `run` raises `ToolRefusal` for what the model should be told."""

    @property
    def name(self) -> str:
        """By which the model calls it."""
        ...

    @property
    def text(self) -> str:
        """What the model is told of it."""
        ...

    @property
    def effect(self) -> Effect:
        """What its calls can do to the world."""
        ...

    @property
    def args(self) -> type[Struct] | LooseArguments:
        """What a call has to give it."""
        ...

    async def preview(self, args: Any, context: ToolContext) -> Preview:
        """What `run` would do now. Raises `ToolRefusal` when it would refuse."""
        ...

    async def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Do it. Whoever ends it early (`context.token`) gets what was done so far."""
        ...


def spec(tool: Tool) -> ToolSpec:
    """What the model is told of `tool`."""
    args = tool.args
    schema = args.schema if isinstance(args, LooseArguments) else argument_schema(args)
    return ToolSpec(tool.name, tool.text, schema)


def argument_schema(args: type[Struct]) -> dict[str, Any]:
    """JSON schema of an argument struct as one object, references put in place, titles left out."""
    schema = msgspec.json.schema(args)
    definitions = schema.pop("$defs", {})
    inlined: dict[str, Any] = _inline(schema, definitions)
    return inlined


def decode_arguments(args: type[Struct] | LooseArguments, text: str) -> Any:
    """The arguments of a call; an empty text means none.

    Raises `msgspec.ValidationError` naming the field, or `msgspec.DecodeError` for what is no JSON.
    """
    kind: Any = dict[str, Any] if isinstance(args, LooseArguments) else args
    return msgspec.json.decode(text.strip() or "{}", type=kind)


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    if "properties" in node:
        properties = {name: _inline(value, definitions) for name, value in node["properties"].items()}
        rest = {key: value for key, value in node.items() if key not in ("properties", "title")}
        return {**_inline(rest, definitions), "properties": properties}
    return {key: _inline(value, definitions) for key, value in node.items()}
