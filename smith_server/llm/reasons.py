"""What the reason means that an answer of either dialect gives for its end. Case and blanks do not matter."""

from smith_server.core.messages import StopReason
from smith_server.llm.assemble import OpenCall, read_arguments

_LIMITS = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})
_FILTERS = frozenset({"content_filter", "refusal", "sensitive", "safety"})
_PAUSES = frozenset({"pause_turn"})
_FAILURES = {
    "error": "provider_error",
    "network_error": "provider_error",
    "abort": "provider_error",
    "insufficient_system_resource": "overloaded",
}


def plain(reason: str | None) -> str:
    """A reason as the other functions take it; "" for none, which a blank one is too."""
    return (reason or "").strip().lower()


def failure_of(reason: str) -> str:
    """The code of the error that a reason stands for; "" for an answer that ended well."""
    return _FAILURES.get(reason, "")


def stop_of(reason: str, *, called: bool) -> StopReason:
    """Where a reason names no limit and no filter, the calls decide."""
    if reason in _LIMITS:
        return "max_tokens"
    if reason.partition(":")[0].strip() in _FILTERS:
        return "content_filter"
    return "tool_use" if called else "stop"


def is_pause(reason: str) -> bool:
    """Whether the provider stopped in the middle, to be asked for the rest: its own tools took too many rounds."""
    return reason in _PAUSES


def survives(call: OpenCall, reason: str) -> bool:
    """Whether a call is kept: a filter drops all of them, the output limit those that it cut."""
    stop = stop_of(reason, called=True)
    if stop == "max_tokens":
        return bool(call.text.strip()) and read_arguments(call.text)[1] != "broken"
    return stop != "content_filter"
