"""What the reference says about effects is so, as far as the text of the program shows it."""

import re
from pathlib import Path

import pytest

from smith_server.config.keys import ANY_NAME, Key, all_keys

PACKAGE = Path(__file__).resolve().parents[2] / "smith_server"
KEYS = [key for key in all_keys() if ANY_NAME not in key.path]


@pytest.fixture(scope="module")
def program() -> str:
    files = [path for path in PACKAGE.rglob("*.py") if "config" not in path.relative_to(PACKAGE).parts[:1]]
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("key", [key for key in KEYS if not key.has_effect], ids=lambda key: key.dotted)
def test_a_setting_said_to_have_no_effect_is_not_read(key: Key, program: str) -> None:
    reading = rf"\bsettings\.{re.escape(key.dotted)}\b"
    assert re.findall(reading, program) == [], "take its line out of NO_EFFECT_YET"


@pytest.mark.parametrize("key", [key for key in KEYS if key.has_effect], ids=lambda key: key.dotted)
def test_a_setting_that_has_an_effect_is_read_somewhere(key: Key, program: str) -> None:
    assert re.search(rf"\.{key.path[-1]}\b", program)
