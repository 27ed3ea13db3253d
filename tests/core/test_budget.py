from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.budget import Budget, refusal
from smith_server.core.errors import AgentError


def code(error: AgentError | None) -> str:
    return error.code if error else ""


def taken(budget: Budget, calls: list[bool]) -> tuple[list[bool], Budget]:
    """Which of these calls (true: a terminal one) are run, and the budget afterwards."""
    budgets = list(accumulate(calls, lambda before, terminal: before.with_step(terminal=terminal), initial=budget))
    runs = [before.has_step(terminal=terminal) for before, terminal in zip(budgets, calls, strict=False)]
    return runs, budgets[-1]


def test_without_limits_nothing_is_ever_exhausted() -> None:
    budget = Budget(steps=10**9, requests=10**9)

    assert budget.has_step()
    assert budget.exhausted(now=1e9, spent=1e9) is None


def test_of_five_calls_with_three_left_three_run_and_the_turn_stops() -> None:
    runs, after = taken(Budget(max_steps=3), [False] * 5)

    assert runs == [True, True, True, False, False]
    assert (after.steps, after.refused) == (3, 2)
    assert code(after.exhausted(0)) == "tool_step_budget"


def test_a_call_counts_unless_it_is_said_to_be_terminal() -> None:
    assert Budget(max_steps=1).with_step().with_step() == Budget(max_steps=1, steps=1, refused=1)


def test_the_last_step_ends_nothing_so_that_the_model_may_answer() -> None:
    runs, after = taken(Budget(max_steps=3), [False] * 3)

    assert runs == [True] * 3
    assert after.exhausted(0) is None
    assert not after.has_step()


def test_a_terminal_call_runs_even_when_nothing_is_left() -> None:
    runs, after = taken(Budget(max_steps=1), [False, True, True])

    assert runs == [True, True, True]
    assert after.exhausted(0) is None


def test_a_terminal_call_takes_no_step_from_others() -> None:
    runs, after = taken(Budget(max_steps=1), [True, True, False])

    assert runs == [True, True, True]
    assert after == Budget(max_steps=1, steps=1)


def test_a_terminal_call_behind_a_refused_one_still_runs() -> None:
    runs, after = taken(Budget(max_steps=1), [False, False, True])

    assert runs == [True, False, True]
    assert code(after.exhausted(0)) == "tool_step_budget"


def test_steps_are_counted_per_turn_over_all_its_replies() -> None:
    _, after = taken(Budget(max_steps=4), [False] * 3)
    runs, _ = taken(after.with_request(), [False] * 2)

    assert runs == [True, False]


def test_a_call_that_was_not_run_is_told_why() -> None:
    assert refusal(Budget(max_steps=3)) == "Not executed: budget exhausted (3 tool calls per turn)."


def test_requests_are_counted_and_limited() -> None:
    budget = Budget(max_requests=2).with_request()
    assert budget.exhausted(0) is None

    assert code(budget.with_request().exhausted(0)) == "max_requests"


@pytest.mark.parametrize(("spent", "found"), [(0.0, ""), (0.99, ""), (1.0, "max_cost"), (1.5, "max_cost")])
def test_money_is_used_up_once_the_limit_is_reached(spent: float, found: str) -> None:
    assert code(Budget(max_cost=1.0).exhausted(0, spent)) == found
    assert code(Budget(max_cost=1.0).overspent(spent)) == found


@pytest.mark.parametrize(("now", "found"), [(100.0, ""), (129.9, ""), (130.0, "max_seconds")])
def test_time_is_counted_from_the_beginning_of_the_turn(now: float, found: str) -> None:
    assert code(Budget(max_seconds=30, began=100.0).exhausted(now)) == found


def test_money_is_named_before_anything_else() -> None:
    budget = Budget(max_steps=0, max_requests=1, max_cost=1, max_seconds=1).with_step().with_request()

    assert code(budget.exhausted(now=9, spent=2)) == "max_cost"


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (
            Budget(max_cost=1.0),
            "This conversation has cost $1.2500 of at most $1.0000 (`max_budget_usd`). Raise the limit to go on.",
        ),
        (
            Budget(max_steps=3, refused=1),
            "One turn may make 3 tool calls (`tool_step_budget`). Send another prompt to go on.",
        ),
        (Budget(max_seconds=1.5, began=-2), "One turn may take 1.5 seconds. Send another prompt to go on."),
        (
            Budget(max_requests=500, requests=500),
            "One prompt may make 500 requests (`max_requests`). Send another prompt to go on.",
        ),
    ],
    ids=["cost", "steps", "time", "requests"],
)
def test_each_limit_says_what_it_is_and_how_to_go_on(budget: Budget, message: str) -> None:
    error = budget.exhausted(0, spent=1.25)

    assert error is not None
    assert (error.kind, error.message, error.retryable) == ("budget_exhausted", message, False)


@given(st.integers(0, 5) | st.none(), st.lists(st.booleans(), max_size=12))
def test_never_more_ordinary_calls_run_than_the_limit_and_none_is_lost(limit: int | None, calls: list[bool]) -> None:
    runs, after = taken(Budget(max_steps=limit), calls)

    ordinary = [ran for ran, terminal in zip(runs, calls, strict=True) if not terminal]
    assert limit is None or sum(ordinary) <= limit
    assert all(ran for ran, terminal in zip(runs, calls, strict=True) if terminal)
    assert after.steps + after.refused == len(ordinary)
    assert (after.exhausted(0) is not None) == (False in ordinary)
