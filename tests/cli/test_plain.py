"""The plain lines say what the drawn session says, in the same words."""

from pathlib import Path

import pytest

from smith_server.cli.plain import Printer
from smith_server.core.errors import agent_error
from smith_server.core.events import Envelope, RequestRetried
from smith_server.tui.state import Notice, folded
from tests.tui.logs import TURNS, recorded


class Paper:
    """Takes what is printed."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, end: str = "\n") -> None:
        self.lines += text.split("\n")

    def answer(self, text: str) -> None:
        """Not looked at."""

    def end_line(self) -> None:
        """Not looked at."""


def printed(envelopes: list[Envelope]) -> list[str]:
    paper = Paper()
    printer = Printer(paper)  # type: ignore[arg-type]
    for envelope in envelopes:
        printer.take(envelope)
    return paper.lines


@pytest.mark.parametrize("log", TURNS, ids=lambda path: path.stem)
def test_every_notice_of_a_recorded_turn_is_printed_in_the_words_of_the_drawn_session(log: Path) -> None:
    envelopes = recorded(log)
    drawn = [block.text for block in folded(envelopes).blocks if isinstance(block, Notice)]
    lines = [line.removeprefix("smith: ").removeprefix("· ") for line in printed(envelopes)]
    assert [line for text in drawn for line in text.split("\n") if line not in lines] == []


def test_a_request_that_goes_out_again_is_told_with_its_number_and_the_time_until_then() -> None:
    error = agent_error("transport", "overloaded", "The model is overloaded.")
    event = RequestRetried(message="m1", layer="transport", attempt=2, delay_ms=1500, error=error)
    envelopes = [Envelope("c1", "t1", event)]
    assert printed(envelopes) == ["smith: The model is overloaded; attempt 2 in 1.5 s"]
    assert folded(envelopes).note == "The model is overloaded; attempt 2 in 1.5 s"
