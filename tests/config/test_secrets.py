import msgspec

from smith_server.config import secrets
from smith_server.config.schema import Settings


def test_every_variable_that_may_hold_a_key_is_known() -> None:
    settings = msgspec.convert(
        {
            "llm_config": {"api_key_env": "MINE"},
            "services": {"tool": {"web_search": {"api_key_env": "SEARCH"}}},
        },
        Settings,
    )
    assert secrets.variables_of(settings) == (*secrets.KEY_VARIABLES, "MINE", "SEARCH")
    assert secrets.variables_of(Settings()) == secrets.key_variables("LLM_API_KEY")


def test_values_of_key_variables_are_blanked_longest_first() -> None:
    blank = secrets.mask({"A": "12345678", "B": "12345678-9", "C": "short"}, ["A", "B", "C", "D"])
    assert blank("x12345678-9 12345678 short") == "x[key] [key] short"


def test_without_a_key_nothing_is_changed() -> None:
    assert secrets.mask({"A": "short"}, ["A"])("short") == "short"


def test_users_and_passwords_in_addresses_are_hidden_wherever_they_stand() -> None:
    shown = secrets.shown(("services", "ui"), {"a": ["https://u:p@h/x@y", "see http://h/ and ftp://t@h"], "b": 3})
    assert shown == {"a": ["https://[hidden]@h/x@y", "see http://h/ and ftp://[hidden]@h"], "b": 3}
