import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure
from smith_server.store import keys


@pytest.mark.parametrize("seq", [1, 9, 10, 99, 9999, 10_000, 123_456])
@pytest.mark.parametrize("turn", [1, 10, 999_999, 1_000_000])
def test_a_message_id_and_its_numbers_are_one_to_one(turn: int, seq: int) -> None:
    assert keys.message_key(keys.message_id(turn, seq)) == (turn, seq)
    assert keys.turn_key(keys.turn_id(turn)) == turn


def test_ids_are_spelled_as_conversations_spell_them() -> None:
    assert keys.message_id(12, 7) == "t000012.0007"


@pytest.mark.parametrize(
    "bad", ["", "t000001", "t000001.", ".0001", "x000001.0001", "t1.2.3", "t000001.0001\n", "t１.１"]
)
def test_what_is_no_message_id_is_refused(bad: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        keys.message_key(bad)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


@pytest.mark.parametrize("bad", ["", "t", "000001", "t000001.0001", "t-1"])
def test_what_is_no_turn_id_is_refused(bad: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        keys.turn_key(bad)
    assert raised.value.error.code == "invalid_key"


@pytest.mark.parametrize("bad", ["", "a:b", ":", "a\udce9"])
def test_an_id_is_never_empty_and_has_no_colon(bad: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        keys.checked(bad)
    assert raised.value.error.code == "invalid_key"


def test_new_ids_are_fit_to_be_keys_and_differ() -> None:
    made = {keys.new_id() for _ in range(500)}
    assert len(made) == 500
    assert all(len(keys.checked(name)) == 21 and name.isalnum() for name in made)


@pytest.mark.parametrize(
    ("segments", "tail", "key"),
    [
        (("c1", "t000012", "0007"), "", "c1:t000012:0007"),
        (("c1",), "scratchpad:dispatch/J", "c1:scratchpad:dispatch/J"),
        (("c1", "t000012"), "parent", "c1:t000012:parent"),
    ],
    ids=["message", "note", "usage"],
)
def test_segments_are_joined_by_colons_of_which_only_the_tail_may_hold_more(
    segments: tuple[str, ...], tail: str, key: str
) -> None:
    assert keys.joined_key(*segments, tail=tail) == key


@pytest.mark.parametrize("bad", ["", "a:b", "talk:child:job1", "\ud800"])
def test_no_key_is_made_of_a_segment_that_is_empty_or_holds_a_colon(bad: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        keys.joined_key("c1", bad)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.text(
    "c1_%:~\ud7ff\ue000\U0010ffff", max_size=4
)


@given(names, st.lists(names, max_size=8))
def test_a_range_holds_the_names_that_begin_with_a_prefix_and_no_others(prefix: str, known: list[str]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE name (id TEXT)")
    longer = [*known, *(prefix + name for name in known)]
    connection.executemany("INSERT INTO name VALUES (?)", [(name,) for name in longer])
    bounds = (prefix, keys.prefix_end(prefix))
    found = [name for (name,) in connection.execute("SELECT id FROM name WHERE id >= ? AND id < ?", bounds)]
    assert sorted(found) == sorted(name for name in longer if name.startswith(prefix))
