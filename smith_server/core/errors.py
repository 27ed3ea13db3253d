"""Every failure of the program is one value, and two kinds of exception carry it.

    AgentFailure            anything that went wrong, as a value
      +- ToolRefusal        told to the model; the turn goes on
      +- Cancelled          a stop was asked for; the turn ends

No text is ever parsed to learn what went wrong: callers look at `kind` and `code`.
This is the only place to add a kind or to say what may be tried again.
"""

from typing import Any, Literal

from msgspec import Struct, structs

Kind = Literal[
    "transport",
    "protocol",
    "schema",
    "tool",
    "cancelled",
    "budget_exhausted",
    "policy",
    "persistence",
    "internal",
]

# Transport errors pass by themselves, but for these codes: the same request fails the same way.
_FINAL = frozenset({("transport", "auth"), ("transport", "bad_request")})
_PASSING = frozenset({("persistence", "locked"), ("persistence", "unavailable")})


def is_retryable(kind: Kind, code: str) -> bool:
    """Whether the same thing, tried again unchanged, may succeed."""
    if (kind, code) in _PASSING:
        return True
    return kind == "transport" and (kind, code) not in _FINAL


class AgentError(Struct, frozen=True):
    """What went wrong, fit to be shown, stored and sent.

    `message` says what happened and what to do next; `data` holds facts a program may want;
    `cause` is for the log alone and is never shown to a model.
    """

    kind: Kind
    code: str
    message: str
    retryable: bool = False
    origin: str = "smith"
    data: dict[str, Any] = {}
    cause: str = ""


def agent_error(kind: Kind, code: str, message: str, *, cause: str = "", **data: Any) -> AgentError:
    """Build an error; whether it is retryable follows from kind and code."""
    return AgentError(kind, code, message, is_retryable(kind, code), data=data, cause=cause)


class AgentFailure(Exception):
    """Carries an `AgentError` up to the boundary that shows, stores or answers it."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error


class ToolRefusal(AgentFailure):
    """A tool cannot do what was asked; the model is told `code` and `message` and goes on."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        super().__init__(agent_error("tool", code, message, **data))


class Cancelled(AgentFailure):
    """Somebody asked for a stop."""

    def __init__(self, message: str = "cancelled") -> None:
        super().__init__(agent_error("cancelled", "cancelled", message))


def failure(kind: Kind, code: str, message: str, *, cause: str = "", **data: Any) -> AgentFailure:
    """Shorthand for raising: `raise failure("schema", "bad_value", "...")`."""
    return AgentFailure(agent_error(kind, code, message, cause=cause, **data))


def public(error: AgentError) -> AgentError:
    """`error` without its cause, fit for anybody but the log."""
    return structs.replace(error, cause="") if error.cause else error


def normalize(problem: BaseException) -> AgentError:
    """Any exception as an `AgentError`; one that we do not know is `internal`."""
    if isinstance(problem, AgentFailure):
        return problem.error
    text = str(problem) or type(problem).__name__
    return agent_error(
        "internal",
        "internal",
        f"internal error: {text}. The log of smith has the details.",
        cause=f"{type(problem).__module__}.{type(problem).__qualname__}: {text}",
    )
