"""Text as rows: what is finished, what still grows, what markdown becomes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from smith_server.core import events
from smith_server.core.errors import agent_error
from smith_server.core.events import Envelope, Event
from smith_server.tui.state import Conversation
from smith_server.tui.theme import Painter
from smith_server.tui.transcript import VOID, Transcript

PAINTER = Painter(None)
LINES = [
    "plain",
    "",
    "**bold** and `code`",
    "- item that is long enough to be wrapped",
    "| a | b |",
    "|---|---|",
    "```",
    "x",
]


class Shown:
    """A conversation, what went into the scrollback of it, and what is below."""

    def __init__(self, width: int = 40) -> None:
        self.conversation = Conversation()
        self.transcript = Transcript(self.conversation, PAINTER)
        self.width = width
        self.above: list[str] = []

    def take(self, *happened: Event, job: str = "", role: str = "") -> None:
        for event in happened:
            self.conversation.take(Envelope("c", "t", event, job, "k" if job else "", role))
        self.above += [PAINTER.ansi(row) for row in self.transcript.finished(self.width)]

    @property
    def below(self) -> list[str]:
        return [PAINTER.ansi(row) for row in self.transcript.live(self.width, 100)]


def said(text: str, message: str = "m") -> Event:
    return events.OutputDelta(message, text)


def rendered(text: str, width: int = 40) -> list[str]:
    shown = Shown(width)
    shown.take(said(text), events.TurnCompleted())
    return shown.above


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# Title\n\ntext", ["Title", "", "text"]),
        ("a **b** `c` *d* _e_", ["a b c d _e_"]),
        ("2 * 3 * 4 and a*b*c", ["2 * 3 * 4 and a*b*c"]),
        ("[smith](https://x.y/z)", ["smith (https://x.y/z)"]),
        ("- one\n  - two\n1. three", ["• one", "  • two", "1. three"]),
        ("> said", ["▏ said"]),
        ("---", ["─" * 40]),
        ("```py\n# no **title**\n```\n**b**", ["```py", "# no **title**", "```", "b"]),
        ("| a | b |\n|---|---|\n| 1 | **2** |\n\nend", [" a   b", " ─────", " 1   2", "", "end"]),
        ("| a | num |\n|---|--:|\n| 1 | 2 |", [" a   num", " ───────", " 1     2"]),
        ("| no table", ["| no table"]),
        ("\n\ntext\n\n\n", ["text"]),
        ("- " + "word " * 10, ["• word word word word word word word", "  word word word"]),
        ("x" * 45, ["x" * 40, "x" * 5]),
        ("a\tb\x1b[31mc\x9bd\u202ee", ["a    b[31mcde"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_markdown_becomes_rows(text: str, rows: list[str]) -> None:
    assert rendered(text) == rows


def test_whole_lines_go_up_at_once_and_the_rest_stays_below() -> None:
    shown = Shown()
    shown.take(said("one\ntw"))
    assert (shown.above, shown.below) == (["one"], ["tw"])
    shown.take(said("o\n\n"))
    assert (shown.above, shown.below) == (["one", "two"], [])
    shown.take(said("three"), events.TurnCompleted())
    assert (shown.above, shown.below) == (["one", "two", "", "three"], [])


def test_a_table_waits_for_its_end() -> None:
    shown = Shown()
    shown.take(said("| a |\n|---|\n| 1 |\n"))
    assert (shown.above, shown.below) == ([], [" a", " ─", " 1"])
    shown.take(said("done\n"))
    assert (shown.above, shown.below) == ([" a", " ─", " 1", "done"], [])


@given(st.lists(st.sampled_from(LINES), max_size=12), st.lists(st.integers(1, 30), max_size=20))
@example(["```", "", ""], [5])
def test_pieces_give_the_same_rows_as_the_whole(lines: list[str], cuts: list[int]) -> None:
    text = "\n".join(lines)
    shown = Shown()
    at = 0
    for cut in cuts:
        shown.take(said(text[at : at + cut])) if text[at : at + cut] else None
        at += cut
    shown.take(*([said(text[at:])] if text[at:] else []), events.TurnCompleted())
    assert shown.above == (rendered(text) if text else [])


@given(st.text(max_size=200), st.integers(10, 60))
def test_no_row_is_wider_than_the_terminal_or_obeyed_by_it(text: str, width: int) -> None:
    for row in rendered(text, width) if text else []:
        assert cell_len(row) <= width
        assert row.isprintable() or not any(ord(character) < 0x20 for character in row)


def test_a_call_is_a_line_and_its_outcome_another() -> None:
    shown = Shown(60)
    shown.take(events.CallStarted("k", "bash", '{"command": "make"}', "make"))
    shown.take(events.CallProgressed("k", "".join(f"step {at}\n" for at in range(8))))
    assert shown.below == ["… bash make", "    … 3 lines before", *(f"    step {at}" for at in range(3, 8))]
    shown.take(events.CallFinished("k", "bash", False, "exit code 2", duration_ms=2345))
    assert (shown.above, shown.below) == (["✗ bash make", "    exit code 2 (2.3 s)"], [])


def test_one_line_before_the_last_ones_is_no_lines() -> None:
    shown = Shown(60)
    shown.take(events.CallStarted("k", "bash", '{"command": "make"}', "make"))
    shown.take(events.CallProgressed("k", "".join(f"step {at}\n" for at in range(6))))
    assert shown.below[1] == "    … 1 line before"


@pytest.mark.parametrize(("count", "last"), [(3, "    +2"), (30, "    edited")])
def test_a_short_diff_is_shown_and_a_long_one_is_not(count: int, last: str) -> None:
    shown = Shown(60)
    diff = "--- a\n+++ b\n@@ -0,0 +1 @@\n" + "".join(f"+{at}\n" for at in range(count))
    shown.take(
        events.CallStarted("k", "edit", "{}", "a.py"), events.CallFinished("k", "edit", True, "edited", diff=diff)
    )
    assert shown.above[:2] == ["✓ edit a.py", "    edited"]
    assert shown.above[-1] == last


def test_an_answer_that_broke_off_is_said_to_be_void() -> None:
    shown = Shown(100)
    error = agent_error("transport", "cut", "It broke off.")
    shown.take(events.RequestStarted("m"), said("one\ntwo"))
    shown.take(events.RequestRetried("m", "transport", 1, 10, error, discard_output=True))
    shown.take(events.RequestStarted("m"), said("again\n", "n"), events.TurnCompleted())
    assert shown.above == ["one", VOID, "again"]


def test_calls_that_run_side_by_side_go_up_in_their_order() -> None:
    shown = Shown(60)
    shown.take(events.CallStarted("a", "read", "{}", "a.py"), events.CallStarted("b", "read", "{}", "b.py"))
    shown.take(events.CallFinished("b", "read", True, "3 lines"))
    assert (shown.above, shown.below) == ([], ["… read a.py", "✓ read b.py", "    3 lines"])
    shown.take(events.CallFinished("a", "read", True, "1 line"))
    assert shown.above == ["✓ read a.py", "    1 line", "✓ read b.py", "    3 lines"]


def test_what_a_child_does_is_shown_in_the_call_that_sent_it() -> None:
    shown = Shown(60)
    shown.take(events.CallStarted("k", "dispatch", "{}", "look"))
    shown.take(events.CallStarted("x", "bash", "{}", "ls"), said("not shown"), job="j", role="explorer")
    assert shown.below == ["… dispatch look", "    explorer: bash ls"]
