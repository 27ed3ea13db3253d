import pytest

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
