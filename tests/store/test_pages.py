import apsw
import pytest

from smith_server.core.messages import Usage
from smith_server.store import pages, turns
from smith_server.store.writes import AddMessage, EditPrompt, OpenTurn, QueuePrompt
from tests.store.builders import GONE, TALK, batches_of_turn, started, stored, user


@pytest.fixture
def long(connection: apsw.Connection) -> apsw.Connection:
    """Four turns of five messages; a child worked for the second one, and another conversation lies between."""
    for name in (TALK, "other"):
        started(connection, name)
    for number in range(1, 5):
        stored(connection, batches_of_turn(number))
        stored(connection, batches_of_turn(number, talk="other"))
    child = OpenTurn(TALK, "t000002", "look", GONE, job="k1", call="call-2-1", role="explorer")
    turns.apply(connection, [child, AddMessage(TALK, user(2, text="look"), "k1")])
    return connection


@pytest.mark.parametrize("limit", [1, 4, 5, 6, 12, 100])
def test_pages_end_to_end_are_the_whole_conversation(long: apsw.Connection, limit: int) -> None:
    before, said, count = "", [], 0
    while True:
        page = pages.page(long, TALK, limit=limit, before=before)
        own = [each.message.id for each in page.said if not each.job]
        assert own[0].endswith(".0001")
        assert len(own) >= min(limit, 20 - sum(1 for job, _ in said if not job))
        said[:0] = [(each.job, each.message.id) for each in page.said]
        before, count = page.before, count + 1
        if not before:
            break
    wanted = [("", f"t{turn:06d}.{seq:04d}") for turn in range(1, 5) for seq in range(1, 6)]
    wanted.insert(10, ("k1", "t000002.0001"))
    assert said == wanted
    assert count == -(-4 // max(1, -(-limit // 5)))


def test_a_page_knows_how_its_turns_ended_and_who_worked_for_them(long: apsw.Connection) -> None:
    page = pages.page(long, TALK, limit=15)
    assert list(page.turns) == ["t000002", "t000003", "t000004"]
    second = page.turns["t000002"]
    assert second.row is not None
    assert (second.row.state, second.usage) == ("completed", {"parent": Usage(25, 0, 0, 9, 2)})
    assert [(job.id, job.call, job.role, job.state) for job in second.jobs] == [("k1", "call-2-1", "explorer", "open")]


def test_what_cannot_be_read_is_left_out(long: apsw.Connection) -> None:
    long.execute("UPDATE message SET record = x'c1' WHERE conversation = ? AND turn = 4 AND seq = 2", (TALK,))
    page = pages.page(long, TALK, limit=1)
    assert [each.message.id[-4:] for each in page.said] == ["0001", "0003", "0004", "0005"]
    assert pages.page(long, "nothing", limit=5) == pages.Page()


def test_a_waiting_prompt_that_was_edited_keeps_its_place_and_what_came_with_it(connection: apsw.Connection) -> None:
    started(connection)
    queued = [QueuePrompt(TALK, name, name, {"role": "worker"}) for name in ("a", "b")]
    turns.apply(connection, [*queued, EditPrompt(TALK, "a", "\ud800"), EditPrompt(TALK, "gone", "x")])
    assert [(each.id, each.text, each.record) for each in turns.waiting(connection, TALK)] == [
        ("a", "\ud800", {"role": "worker"}),
        ("b", "b", {"role": "worker"}),
    ]
