"""What a provider's refusal means: status, body or an error inside a stream → one `AgentError`.

Codes of kind `transport`: overloaded, rate_limited, auth, bad_request, provider_error,
stream_truncated, stall_timeout, unreachable. Of kind `protocol`: protocol_error.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core.errors import AgentError, agent_error
from smith_server.core.ports import Failed
from smith_server.llm import advice, loose_json
from smith_server.llm.presets import Preset
from smith_server.llm.retry_after import retry_after

MOST_BODY = 64 * 1024
"""Bytes of an error's body that are read."""

_MOST_DETAIL = 600

_NAMES = {
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "invalid_request_error": "bad_request",
    "not_found_error": "bad_request",
    "request_too_large": "bad_request",
    "billing_error": "bad_request",
    "insufficient_quota": "bad_request",
    "context_length_exceeded": "bad_request",
}
_STATUSES = {401: "auth", 403: "auth", 429: "rate_limited", 498: "overloaded", 503: "overloaded", 529: "overloaded"}
_PASSING_4XX = frozenset({408, 409, 424, 425, 499})
_CONTEXT = re.compile(r"context[ _-]?(length|window|size)|maximum context", re.IGNORECASE)


class Report(Struct, frozen=True):
    """What a server said of an error: its words, the names it gave it, a number like a status."""

    detail: str = ""
    names: tuple[str, ...] = ()
    status: int | None = None

    @property
    def names_quota(self) -> bool:
        return "insufficient_quota" in self.names

    @property
    def names_context(self) -> bool:
        return "context_length_exceeded" in self.names or _CONTEXT.search(self.detail) is not None


def read_report(error: Any) -> Report:
    """The value of an `error` field, whatever its shape."""
    if isinstance(error, str):
        return Report(_short(error), (error.strip().lower(),))
    if not isinstance(error, dict):
        return Report(_short(str(error)))
    said: list[Any] = [error.get("code"), error.get("type"), error.get("status")]
    names = tuple(each.strip().lower() for each in said if isinstance(each, str))
    numbers = [int(each) for each in said if _is_status(each)]
    return Report(_short(_words(error)), names, numbers[0] if numbers else None)


def error_in(body: Any) -> Any:
    """The `error` of a decoded body, which may be wrapped in a list; None when there is none."""
    if isinstance(body, list):
        return next((found for each in body if (found := error_in(each)) is not None), None)
    error = body.get("error") if isinstance(body, dict) else None
    return None if error is None or error is False or error == "" else error


def of_response(status: int, headers: Mapping[str, str], body: bytes, preset: Preset) -> Failed:
    """A response whose status is an error, as the end of an answer. `headers` have lower-case names."""
    report = _report_of(body)
    code = _unmistakable(report) or by_status(status)
    wait = retry_after(headers)
    text = advice.for_response(code, status, headers, report.detail, preset)
    return Failed(_error(code, _special(report, preset) or text, preset, status, report), retry_after=wait)


def in_stream(error: Any, preset: Preset) -> AgentError:
    """An `error` inside an answer that began well."""
    report = read_report(error)
    named = next((_NAMES[name] for name in report.names if name in _NAMES), "")
    numbered = by_status(report.status) if report.status is not None else "provider_error"
    code = _unmistakable(report) or named or numbered
    text = _special(report, preset) or advice.for_code(code, report.detail, preset)
    return _error(code, text, preset, report.status, report)


def judged(error: AgentError, output: str) -> AgentError:
    """`error` of an attempt that had given out `output` (none, thinking, text or call).

    Only after nothing at all may the same request simply be sent again; `data` keeps what it was.
    """
    return msgspec.structs.replace(
        error, retryable=error.retryable and output == "none", data={**error.data, "output": output}
    )


def by_status(status: int) -> str:
    """The code of an HTTP status that is no success."""
    if status in _STATUSES:
        return _STATUSES[status]
    return "bad_request" if 400 <= status < 500 and status not in _PASSING_4XX else "provider_error"


def _unmistakable(report: Report) -> str:
    """What the body says so plainly that no status outweighs it."""
    if report.names_quota or report.names_context:
        return "bad_request"
    return "overloaded" if "overloaded_error" in report.names else ""


def _special(report: Report, preset: Preset) -> str:
    if report.names_quota:
        return advice.quota(report.detail, preset)
    return advice.context(report.detail, preset) if report.names_context else ""


def _error(code: str, text: str, preset: Preset, status: int | None, report: Report) -> AgentError:
    facts = {"provider": preset.name, **({} if status is None else {"status": status})}
    return agent_error("transport", code, text, cause=report.detail, **facts)


def _report_of(body: bytes) -> Report:
    try:
        decoded = loose_json.decode(body)
    except loose_json.Malformed:
        return Report(_short(_without_markup(body.decode("utf-8", "replace"))))
    error = error_in(decoded)
    return read_report(decoded if error is None else error)


def _words(error: dict[str, Any]) -> str:
    """The message, and what a relay was told by the provider behind it."""
    said = [error.get("message"), error.get("detail"), error.get("error")]
    text = next((each for each in said if isinstance(each, str) and each.strip()), "")
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{text}: {raw}" if isinstance(raw, str) and raw.strip() else text


def _is_status(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) == 3
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 1000


def _without_markup(text: str) -> str:
    return re.sub(r"<(style|script)\b.*?</\1\s*>|<[^<>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)


def _short(text: str) -> str:
    words = " ".join(loose_json.mend(text).split())
    return words if len(words) <= _MOST_DETAIL else words[: _MOST_DETAIL - 1] + "…"
