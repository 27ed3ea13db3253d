"""What a person means by Ctrl-C."""

import pytest

from smith_server.cli.signals import Presses


@pytest.mark.parametrize(
    ("presses", "meant", "code"),
    [
        ([(0, True)], ["stop"], 0),
        ([(0, True), (1, True)], ["stop", "leave"], 130),
        ([(0, True), (1, False)], ["stop", "leave"], 130),
        ([(0, True), (3, False)], ["stop", "hint"], 0),
        ([(0, True), (3, True), (6, True)], ["stop", "stop", "stop"], 0),
        ([(0, False)], ["hint"], 0),
        ([(0, False), (1, False)], ["hint", "leave"], 0),
        ([(0, False), (1, True)], ["hint", "leave"], 130),
        ([(0, False), (3, False), (4, False)], ["hint", "hint", "leave"], 0),
        ([(0, True), (3, False), (4, False)], ["stop", "hint", "leave"], 0),
        ([(0, True), (1, True), (9, True)], ["stop", "leave", "end"], 130),
    ],
)
def test_one_stops_two_leave_three_end(presses: list[tuple[float, bool]], meant: list[str], code: int) -> None:
    seen = Presses()
    assert [seen.press(now, runs=runs) for now, runs in presses] == meant
    assert seen.code == code
