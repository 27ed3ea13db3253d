"""Every failure is one value of nine kinds, and what is shown of it holds no inner detail."""

from typing import get_args

import msgspec
import pytest

from smith_server.core.errors import (
    AgentError,
    Cancelled,
    Kind,
    ToolRefusal,
    agent_error,
    failure,
    normalize,
    public,
)

KINDS = (
    "transport",
    "protocol",
    "schema",
    "tool",
    "cancelled",
    "budget_exhausted",
    "policy",
    "persistence",
    "internal",
)


def test_there_are_nine_kinds() -> None:
    assert get_args(Kind) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_may_pass_by_itself_is_worth_another_try(kind: Kind) -> None:
    assert agent_error(kind, "x", "text").retryable == (kind == "transport")


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("transport", "auth", False),
        ("transport", "bad_request", False),
        ("persistence", "locked", True),
        ("persistence", "unavailable", True),
        ("persistence", "corrupt", False),
    ],
)
def test_some_codes_are_no_like_the_rest_of_their_kind(kind: Kind, code: str, retryable: bool) -> None:
    assert agent_error(kind, code, "text").retryable == retryable


def test_an_error_has_defaults_for_all_but_what_happened() -> None:
    assert agent_error("tool", "gone", "It is gone.") == AgentError(
        "tool", "gone", "It is gone.", False, "smith", {}, ""
    )


def test_a_failure_of_ours_is_taken_as_it_is() -> None:
    raised = failure("policy", "turn_active", "A turn is running.", turn="t000001")
    assert normalize(raised) is raised.error
    assert normalize(Cancelled()).kind == "cancelled"
    assert not normalize(Cancelled()).retryable
    assert normalize(ToolRefusal("stale", "Read again.", line=3)).data == {"line": 3}


@pytest.mark.parametrize("problem", [ValueError("a detail"), KeyError("key"), RuntimeError()], ids=repr)
def test_an_exception_nobody_knows_is_internal_and_its_class_is_for_the_log_alone(problem: Exception) -> None:
    error = normalize(problem)
    assert (error.kind, error.code, error.retryable) == ("internal", "internal", False)
    assert error.message.startswith("internal error: ")
    assert type(problem).__name__ in error.cause
    assert "Traceback" not in error.message
    assert public(error).cause == ""


def test_an_error_travels_as_json() -> None:
    error = agent_error("schema", "bad_value", "Not that.", cause="inside", path="bash.timeout", ids=["a", "b"])
    assert msgspec.json.decode(msgspec.json.encode(error), type=AgentError) == error
