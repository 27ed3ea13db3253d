"""Functions and classes that are imported with their first call."""

import subprocess
import sys

import pytest

from smith_server.core.late import late


def test_a_late_function_is_called_as_it_would_be_itself() -> None:
    assert late("textwrap:shorten")("one two three", width=9, placeholder="…") == "one two…"


def test_a_name_may_lie_in_a_class() -> None:
    assert late("fractions:Fraction.from_float")(0.5).denominator == 2


def test_nothing_is_imported_before_the_call() -> None:
    program = (
        "import sys; from smith_server.core.late import late; called = late('fractions:Fraction');"
        "print('fractions' in sys.modules); called(1); print('fractions' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_what_is_not_there_is_told_with_the_call() -> None:
    with pytest.raises(ModuleNotFoundError):
        late("smith_server.nowhere:nothing")()
