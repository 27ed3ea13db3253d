import pytest

from smith_server.core.errors import AgentFailure, agent_error
from smith_server.runtime.lifecycle import Life

ERROR = agent_error("persistence", "lease_lost", "It was taken over.")


def test_a_session_is_created_runs_and_stops() -> None:
    created = Life()
    running = created.start()
    stopped = running.stop("the editor is gone")
    assert [life.status for life in (created, running, stopped)] == ["created", "running", "stopped"]
    assert created.started_at == 0.0 < running.started_at <= stopped.stopped_at
    assert (stopped.stop_reason, stopped.error) == ("the editor is gone", None)


@pytest.mark.parametrize("life", [Life(), Life().start()], ids=["created", "running"])
def test_a_live_session_can_fail(life: Life) -> None:
    failed = life.fail(ERROR)
    assert (failed.status, failed.error, failed.stop_reason) == ("failed", ERROR, "It was taken over.")


@pytest.mark.parametrize("ended", [Life().start().stop("first"), Life().start().fail(ERROR)], ids=["stopped", "failed"])
def test_what_has_ended_stays_as_it_ended(ended: Life) -> None:
    assert ended.stop("again") == ended
    assert ended.fail(agent_error("internal", "late", "late")) == ended


@pytest.mark.parametrize(
    "life", [Life().start(), Life().start().stop(""), Life().fail(ERROR)], ids=["running", "stopped", "failed"]
)
def test_nothing_starts_twice(life: Life) -> None:
    with pytest.raises(AgentFailure) as problem:
        life.start()
    assert (problem.value.error.kind, problem.value.error.code) == ("internal", "session_state")


@pytest.mark.parametrize("life", [Life(), Life().start().stop("done")], ids=["created", "stopped"])
def test_a_turn_needs_a_running_session(life: Life) -> None:
    with pytest.raises(AgentFailure) as problem:
        life.require_running()
    assert problem.value.error.code == "session_state"
