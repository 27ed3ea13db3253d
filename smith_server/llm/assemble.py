"""Pieces of a reply, of any dialect, to deltas and to the parts of a message."""

import secrets
import string
from collections.abc import Collection
from typing import Any, Literal

import msgspec

from smith_server.core.messages import Call, Part, Text, Thinking
from smith_server.core.ports import Delta, TextDelta, ThinkingDelta
from smith_server.llm.loose_json import mend

Kind = Literal["text", "thinking"]
Output = Literal["none", "thinking", "text", "call"]
Fitness = Literal["object", "other", "broken"]

_RANKS: tuple[Output, ...] = ("none", "thinking", "text", "call")
_ID_LETTERS = string.ascii_letters + string.digits


class Run:
    """Consecutive pieces of one kind. `field` is where its text came from, `details` what came beside it."""

    def __init__(self, kind: Kind, field: str = "") -> None:
        self.kind: Kind = kind
        self.field = field
        self.pieces: list[str] = []
        self.details: list[Any] = []

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class OpenCall:
    """A call of which pieces may still come. `given` are the arguments if no pieces come."""

    def __init__(self, call_id: str = "", name: str = "", given: str = "") -> None:
        self.id = call_id
        self.name = name
        self.given = given
        self.arguments: list[str] = []
        self.extra: dict[str, Any] = {}

    @property
    def text(self) -> str:
        return mend("".join(self.arguments) or self.given)


class Assembly:
    """One reply while it comes.

    `output` is the weightiest thing that came: a call outweighs text, text outweighs thinking.
    """

    def __init__(self) -> None:
        self.output: Output = "none"
        self._parts: list[Run | OpenCall] = []
        self._run = _no_run()
        self._fresh: list[str] = []
        self._half = ""
        self._ready: list[Delta] = []

    def say(self, kind: Kind, text: str, field: str = "") -> None:
        """More text of a kind."""
        run = self._run
        if run.kind != kind or run.field != field:
            self._begin(kind, field)
        self._fresh.append(text)

    def detail(self, items: list[Any]) -> None:
        """Opaque data that belongs to the reasoning at this place."""
        if self._run.kind != "thinking":
            self._begin("thinking", "")
        self._run.details.extend(items)

    def open(self, kind: Kind) -> Run:
        """Begin a stretch that stays one, whatever comes between its pieces."""
        self._begin(kind, f"block {len(self._parts)}")
        return self._run

    def add(self, run: Run, text: str) -> None:
        """More text of a stretch that was opened."""
        if run is not self._run:
            self._settle(last=True)
            self._run = run
        self._fresh.append(text)

    def call(self, call: OpenCall) -> None:
        """A call begins here; its pieces are added to it directly."""
        self._settle(last=True)
        self._parts.append(call)
        self._run = _no_run()
        self.note("call")

    def note(self, output: Output) -> None:
        """Something of this weight came."""
        if _RANKS.index(output) > _RANKS.index(self.output):
            self.output = output

    def flush(self, *, last: bool = False) -> list[Delta]:
        """What came since the last flush, each stretch of one kind as one delta."""
        self._settle(last)
        ready, self._ready = self._ready, []
        return ready

    def parts(self, issuer: str) -> list[Part | OpenCall]:
        """Everything in its order, calls still open."""
        return [part if isinstance(part, OpenCall) else _closed(part, issuer) for part in self._parts if _counts(part)]

    def _begin(self, kind: Kind, field: str) -> None:
        self._settle(last=True)
        self._run = Run(kind, field)
        self._parts.append(self._run)

    def _settle(self, last: bool) -> None:
        """Close the stretch at hand. The first half of a surrogate pair waits for the second one."""
        if not self._fresh and not (last and self._half):
            return
        text = self._half + "".join(self._fresh)
        self._fresh.clear()
        self._half = ""
        if not text.isascii():
            if not last and "\ud800" <= text[-1:] <= "\udbff":
                text, self._half = text[:-1], text[-1]
            text = mend(text)
        if text:
            kind = self._run.kind
            self._run.pieces.append(text)
            self._ready.append(TextDelta(text) if kind == "text" else ThinkingDelta(text))
            self.note(kind)


def _no_run() -> Run:
    """A run that nothing continues."""
    return Run("text", "none")


def closed_call(call: OpenCall, taken: Collection[str]) -> Call:
    """A finished call. Its id is kept unless it is missing or among `taken`; arguments that hold an
    object are its text, others stay as they came.
    """
    call_id = mend(call.id)
    text, fitness = read_arguments(call.text)
    arguments = text if fitness == "object" else call.text
    return Call(
        call_id if call_id and call_id not in taken else fresh_id(taken), mend(call.name), arguments, call.extra
    )


def fresh_id(taken: Collection[str]) -> str:
    """An id of a form that every vendor takes: nine letters and digits."""
    while (made := "".join(secrets.choice(_ID_LETTERS) for _ in range(9))) in taken:
        pass
    return made


def read_arguments(text: str) -> tuple[str, Fitness]:
    """The arguments of a call as the text of a JSON object, and what they were.

    Blank text is `{}`. An object written as a JSON string is unwrapped once. `other` is JSON, but no
    object; `broken` is no JSON.
    """
    if not text.strip():
        return "{}", "object"
    for _ in range(2):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return text, "broken"
        if isinstance(value, dict):
            return text, "object"
        if not isinstance(value, str):
            break
        text = value
    return text, "other"


def _counts(part: Run | OpenCall) -> bool:
    return bool(part.name) if isinstance(part, OpenCall) else bool(part.pieces or part.details)


def _closed(run: Run, issuer: str) -> Part:
    if run.kind == "text":
        return Text(run.text)
    replay: dict[str, Any] = {}
    if run.field and run.pieces:
        replay[run.field] = run.text
    if run.details:
        replay["reasoning_details"] = joined_details(run.details)
    return Thinking(run.text, issuer if replay else "", replay)


def joined_details(items: list[Any]) -> list[Any]:
    """Reasoning details with the fragments of one block put together.

    Consecutive texts (or summaries) of one type and index are one block; anything else stays as it is.
    """
    joined: list[Any] = []
    for item in items:
        field = _fragment_field(item)
        last: Any = joined[-1] if joined else {}
        if field and _fragment_field(last) == field and last.get("index") == item.get("index"):
            known = {key: value for key, value in item.items() if value is not None and key != field}
            joined[-1] = {**last, **known, field: last[field] + item[field]}
        else:
            joined.append(item)
    return joined


def _fragment_field(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    field = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(str(item.get("type")), "")
    return field if field and isinstance(item.get(field), str) else ""
