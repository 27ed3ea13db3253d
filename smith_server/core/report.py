"""How a subagent ends: the one shape of its report, for the tool that takes it and for what its parent is told.

What a model sends is put right first and checked second: the meaning has to be clear, the form need
not be. A finding without evidence is refused in any form.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from smith_server.core.errors import AgentError, ToolRefusal
from smith_server.core.tool import argument_schema

ReportKind = Literal["worker", "explorer"]
Status = Literal["ok", "partial", "blocked"]
Texts = tuple[str, ...]

_STATUSES: dict[str, Status] = {
    **dict.fromkeys(("ok", "success", "succeeded", "done", "complete", "completed"), "ok"),
    **dict.fromkeys(("partial", "incomplete"), "partial"),
    **dict.fromkeys(("blocked", "failed", "failure", "error"), "blocked"),
}
_HOST_FIELDS = ("cancelled", "error", "usage")


class Report(Struct, frozen=True, kw_only=True):
    """What every report says. `error` is a text or an object as JSON; the last three are for the program."""

    status: Annotated[Status, Meta(description="`ok`: done. `partial`: some of it. `blocked`: none of it.")]
    summary: Annotated[str, Meta(min_length=1, description="What came of the task, in a few sentences.")]
    limitations: Annotated[Texts, Meta(description="What was not done or could not be checked.")] = ()
    cancelled: bool = False
    error: str | None = None
    usage: dict[str, Any] | None = None


class WorkerReport(Report, frozen=True, kw_only=True):
    """The report of whoever changes things."""

    changes: Annotated[Texts, Meta(description="Each file that was changed, and how.")] = ()
    verification: Annotated[Texts, Meta(description="Each check that was run, and its outcome.")] = ()


class ExplorerReport(Report, frozen=True, kw_only=True):
    """The report of whoever only looks."""

    findings: Annotated[Texts, Meta(description="Each thing that was found out.")] = ()
    evidence: Annotated[
        Texts, Meta(description="Where each finding can be seen, as `path:line`, command or URL. Findings need it.")
    ] = ()


_TYPES: dict[ReportKind, type[Report]] = {"worker": WorkerReport, "explorer": ExplorerReport}
_LISTS: dict[ReportKind, Texts] = {"worker": ("changes", "verification"), "explorer": ("findings", "evidence")}


def read_report(kind: ReportKind, args: Any) -> Report:
    """The report in the arguments of a call, decoded or as JSON text.

    Fields of the other kind and unknown ones are passed over. Raises `ToolRefusal`
    `invalid_report`; `data["field"]` names the first field that has no meaning.
    """
    given = _object(args)
    fields: dict[str, Any] = {
        "status": _status(given.get("status")),
        "summary": _summary(given.get("summary")),
        **{name: _texts(name, given.get(name)) for name in (*_LISTS[kind], "limitations")},
        "cancelled": _flag(given.get("cancelled")),
        "error": _error(given.get("error")),
        "usage": _usage(given.get("usage")),
    }
    if fields.get("findings") and not fields["evidence"]:
        raise _refusal("evidence", "findings need evidence: say for each where it can be seen, e.g. `path:line`")
    return msgspec.convert(fields, _TYPES[kind])


def report_schema(kind: ReportKind) -> dict[str, Any]:
    """JSON schema of what a model is asked for: the same shape without what only the program fills in."""
    schema = argument_schema(_TYPES[kind])
    properties = {name: each for name, each in schema["properties"].items() if name not in _HOST_FIELDS}
    return {**schema, "properties": properties}


def unreported(kind: ReportKind, error: AgentError, text: str = "") -> Report:
    """The report of a subagent that ended, or was refused, without one; `text` is the last thing it said.

    Partial when it said something and forgot to report (code `missing_report`), else blocked.
    """
    told = msgspec.json.encode({"kind": error.kind, "code": error.code, "message": error.message}, order="sorted")
    return _TYPES[kind](
        status="partial" if error.code == "missing_report" else "blocked",
        summary=error.message.strip() or error.code,
        limitations=(text.strip(),) if text.strip() else (),
        cancelled=error.kind == "cancelled",
        error=told.decode(),
    )


def _object(args: Any) -> dict[str, Any]:
    given = _decoded(args) if isinstance(args, str) else args
    if not isinstance(given, dict):
        raise _refusal("arguments", "they are not a JSON object")
    return given


def _status(value: Any) -> Status:
    known = _STATUSES.get(value.strip().lower()) if isinstance(value, str) else None
    if known is None:
        raise _refusal("status", "give one of `ok`, `partial`, `blocked`")
    return known


def _summary(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    if not all(isinstance(line, str) for line in lines) or not "\n".join(lines).strip():
        raise _refusal("summary", "say in a few sentences what came of the task")
    return _clean("\n".join(lines))


def _texts(field: str, value: Any) -> list[str]:
    listed = _decoded(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    return list(_entries(field, listed if isinstance(listed, list) else [value]))


def _entries(field: str, values: list[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, bool | list):
            raise _refusal(field, "give a list of texts")
        text = value.strip() if isinstance(value, str) else "" if value is None else _compact(field, value)
        if text:
            yield _clean(text)


def _flag(value: Any) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("true", "false"):
        return bool(word == "true")
    if value is not None and not isinstance(value, bool):
        raise _refusal("cancelled", "give true or false, or leave it out")
    return bool(value)


def _error(value: Any) -> str | None:
    if value is not None and not isinstance(value, str | dict):
        raise _refusal("error", "give a text, or leave it out")
    return value if value is None else _clean(value if isinstance(value, str) else _compact("error", value))


def _usage(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise _refusal("usage", "leave it out")
    return value if value is None else _decoded(_clean(_compact("usage", value)))


def _decoded(text: str) -> Any:
    """The value of a JSON text; None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _compact(field: str, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise _refusal(field, "it is nested too deep; give a text") from None


def _clean(text: str) -> str:
    """`text` without halves of characters, which JSON can spell and nothing can store."""
    return text.encode("utf-8", "replace").decode()


def _refusal(field: str, advice: str) -> ToolRefusal:
    where = "the arguments" if field == "arguments" else f"`{field}`"
    return ToolRefusal(
        "invalid_report", f"The report is not accepted because of {where}: {advice}. Call report again.", field=field
    )
