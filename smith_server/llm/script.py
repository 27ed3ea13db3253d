"""Written conversations for the scripted provider, in JSON.

    {"strict": true, "loop": false, "replies": [
      [{"thinking": "Let me look."}, {"call": "read", "arguments": {"path": "a.py"}}],
      [{"call": "edit", "arguments": {"path": "a.py", "hash": "{hash:a.py}", "text": "x = 2"}}],
      [{"text": "Done, as you wished.", "size": 5, "delay": 0.02}, {"stop": "max_tokens"}],
      [{"wait": 1.5}, {"error": {"code": "rate_limited", "message": "slow down", "retry_after": 2}}]]}

A reply answers one request and is a list of steps, each with one of `text`, `thinking`, `call`,
`wait` (seconds), `error`, `stop`, `usage`. `size` cuts a text into pieces of that many characters,
`delay` waits before each of them. `{hash:PATH}` in a text or in arguments is the hash that the last
`read` of PATH showed. A bare list of replies is a script too. `others` holds replies for
conversations whose first message contains a certain text, such as the task of a sub-agent:

    {"replies": […], "others": {"find the parser": [[{"call": "report", "arguments": {…}}]]}}
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.core.messages import AssistantMessage, Message, StopReason, ToolMessage, Usage

_PLACEHOLDER = re.compile(r"\{hash:([^{}]+)\}")
_HASH = re.compile(r"(?i)hash\W{0,4}([0-9a-f]{16})\b")
_HASH_ALONE = re.compile(r"\b([0-9a-f]{16})\b")
_ACTIONS = ("text", "thinking", "call", "wait", "error", "stop", "usage")


class ScriptedError(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure with one of the codes that real providers give."""

    code: str
    message: str = "The script says so."
    retry_after: float | None = None


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a reply does. `arguments` may be a text that is no JSON."""

    text: str | None = None
    thinking: str | None = None
    call: str | None = None
    arguments: dict[str, Any] | str = {}
    id: str = ""
    wait: float | None = None
    error: ScriptedError | None = None
    stop: StopReason | None = None
    usage: Usage | None = None
    size: int = 0
    delay: float = 0.0

    def __post_init__(self) -> None:
        if sum(getattr(self, name) is not None for name in _ACTIONS) != 1:
            raise ValueError(f"a step has exactly one of: {', '.join(_ACTIONS)}")

    def pieces(self, text: str) -> Iterator[str]:
        """`text` cut as this step says."""
        size = self.size or max(1, len(text))
        for at in range(0, len(text), size):
            yield text[at : at + size]


Reply = tuple[Step, ...]


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    """Replies in the order in which they are given; `loop` begins again after the last one.

    `strict` refuses requests that a real provider would refuse.
    """

    replies: tuple[Reply, ...]
    strict: bool = False
    loop: bool = False
    others: dict[str, tuple[Reply, ...]] = {}


def load(path: Path) -> Script:
    """The script in a file. Raises `AgentFailure` (`schema`, `bad_script`) for a file that holds none."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError as problem:
        text = f"SMITH_SCRIPT names {path}, which does not exist. Set it to the path of a script."
        raise failure("schema", "bad_script", text) from problem
    except OSError as problem:
        text = f"SMITH_SCRIPT names {path}, which cannot be read: {problem.strerror}."
        raise failure("schema", "bad_script", text) from problem
    except (msgspec.DecodeError, UnicodeError) as problem:
        text = f"{path}, which SMITH_SCRIPT names, is no script: {problem}. Correct the file."
        raise failure("schema", "bad_script", text) from problem


def parse(data: bytes) -> Script:
    """The script in `data`. Raises `msgspec.DecodeError`, naming the place."""
    if data.lstrip()[:1] == b"[":
        return Script(msgspec.json.decode(data, type=tuple[Reply, ...]))
    return msgspec.json.decode(data, type=Script)


def filled(value: Any, messages: Sequence[Message]) -> Any:
    """`value` with each placeholder replaced; one that nothing was read for stays."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: _hash_of(found[1], messages) or found[0], value)
    if isinstance(value, dict):
        return {key: filled(item, messages) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, messages) for item in value]
    return value


def _hash_of(path: str, messages: Sequence[Message]) -> str:
    reads = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
        if call.name == "read" and _path_in(call.arguments) == path
    }
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.ok and message.call_id in reads:
            found = _HASH.search(message.content) or _HASH_ALONE.search(message.content)
            if found:
                return found[1]
    return ""


def _path_in(arguments: str) -> str:
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError):
        return ""
    return str(value.get("path", "")) if isinstance(value, dict) else ""
