"""The small parts: input rows, panel, Ctrl-C, screen, pager, pictures."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from smith_server.core.events import ApprovalAsked
from smith_server.core.messages import Usage
from smith_server.core.news import tokens
from smith_server.tui import kitty, rain, spinner
from smith_server.tui.approval import Panel
from smith_server.tui.glyphs import GLYPHS, HEIGHT, WIDTH
from smith_server.tui.input import input_rows
from smith_server.tui.interrupt import Presses
from smith_server.tui.pager import Pager
from smith_server.tui.screen import Frame, Screen
from smith_server.tui.state import Approval, Conversation, Status
from smith_server.tui.status import Facts, activity, bar
from smith_server.tui.theme import Painter, depth
from tests.tui.far import Far

PAINTER = Painter(None)


def picture(*rows: str, row: int = 0, column: int = 0) -> Frame:
    return Frame([Text(line) for line in rows], row, column)


def test_frames_replace_each_other_and_what_is_finished_scrolls_up() -> None:
    far = Far()
    screen = Screen(far.tty, PAINTER)
    screen.draw([], picture("a", "b", "c", row=1, column=1))
    assert far.rows()[:4] == ["a", "b", "c", ""]
    assert (far.screen.cursor.y, far.screen.cursor.x) == (1, 1)
    screen.draw([], picture("a", "B", row=0))
    assert far.rows()[:4] == ["a", "B", "", ""]
    screen.draw([Text("one"), Text("two")], picture("x", "y", "z", row=2, column=3))
    assert far.rows() == ["one", "two", "x", "y", "z", ""]
    screen.draw([Text("three"), Text("four")], picture("x", "y", "z"))
    assert far.rows() == ["two", "three", "four", "x", "y", "z"]
    screen.erase()
    assert far.rows() == ["two", "three", "four", "", "", ""]
    far.close()


def test_the_same_frame_writes_nothing_and_another_only_what_differs() -> None:
    far = Far(60)
    screen = Screen(far.tty, PAINTER)
    frame = picture("x" * 50, "spinner", "y" * 50, row=2)
    screen.draw([], frame)
    before = far.tty.written
    screen.draw([], frame)
    assert far.tty.written == before
    screen.draw([], picture("x" * 50, "SPINNER", "y" * 50, row=2))
    assert far.tty.written - before < 60
    assert far.rows()[1] == "SPINNER"
    far.close()


finished_rows = st.lists(st.text("abc", max_size=4), max_size=2)
live_rows = st.lists(st.text("xyz", max_size=30), min_size=1, max_size=8)
frames = st.lists(st.tuples(finished_rows, live_rows), min_size=1, max_size=8)


@given(frames)
def test_any_sequence_of_frames_ends_in_the_last_one(sequence: list[tuple[list[str], list[str]]]) -> None:
    far = Far(20, 6)
    screen = Screen(far.tty, PAINTER)
    for finished, rows in sequence:
        screen.draw([Text(line) for line in finished], picture(*rows, row=len(rows) - 1))
    seen = far.rows()
    last = [line if len(line) <= 20 else line[:19] + "…" for line in sequence[-1][1]][-5:]
    at = far.screen.cursor.y
    assert seen[at - len(last) + 1 : at + 1] == last
    assert all(line == "" for line in seen[at + 1 :])
    far.close()


@pytest.mark.parametrize(
    ("text", "cursor", "rows", "place"),
    [
        ("", 0, ["❯ "], (0, 2)),
        ("abc", 1, ["❯ abc"], (0, 3)),
        ("abcdefghij", 10, ["❯ abcdefg", "  hij"], (1, 5)),
        ("abcdefg", 7, ["❯ abcdefg"], (0, 9)),
        ("a\nb", 2, ["❯ a", "  b"], (1, 2)),
        ("日本", 1, ["❯ 日本"], (0, 4)),
        ("\x1b\t", 1, ["❯ ^[    "], (0, 4)),
        ("1\n2\n3\n4\n5", 9, ["❯ 3", "  4", "  5", "  5 of 5 rows"], (2, 3)),
        ("1\n2\n3\n4\n5", 0, ["❯ 1", "  2", "  3", "  1 of 5 rows"], (0, 2)),
    ],
)
def test_the_input_is_wrapped_around_its_cursor(
    text: str, cursor: int, rows: list[str], place: tuple[int, int]
) -> None:
    made = input_rows(text, cursor, 10, 3)
    shown = [row.plain for row in made.rows]
    if "\n" in text and len(shown) == 4 and place[0] == 2:
        shown[0] = "❯" + shown[0][1:]
    assert (shown, (made.row, made.column)) == (rows, place)


@given(st.text(max_size=100), st.integers(0, 100), st.integers(6, 40))
def test_the_cursor_stands_in_a_row_that_fits(text: str, cursor: int, width: int) -> None:
    made = input_rows(text, min(cursor, len(text)), width, 5)
    assert 0 <= made.row < len(made.rows)
    assert made.column <= width
    assert all(cell_len(row.plain) <= max(width, 20) for row in made.rows)


def asked() -> list[Approval]:
    return [Approval(False, ApprovalAsked("q", "k", "bash", "ls"))]


@pytest.mark.parametrize(
    ("typed", "is_empty", "takes"),
    [(None, True, True), (9.5, True, False), (8.0, True, True), (None, False, False)],
    ids=["idle", "keys come", "a while ago", "a text is there"],
)
def test_who_gets_the_keys_when_a_question_appears(typed: float | None, is_empty: bool, takes: bool) -> None:
    panel = Panel()
    if typed is not None:
        panel.typed(typed)
    panel.follow(asked(), 10.0, is_input_empty=is_empty)
    assert panel.takes_keys == takes
    panel.move()
    assert panel.takes_keys != takes


def test_a_sent_text_brings_no_more_keys() -> None:
    panel = Panel()
    panel.typed(9.9)
    panel.sent()
    panel.follow(asked(), 10.0, is_input_empty=True)
    assert panel.takes_keys
    panel.follow([], 11.0, is_input_empty=True)
    panel.move()
    assert (panel.question, panel.takes_keys) == (None, False)


@pytest.mark.parametrize(
    ("presses", "answers", "code"),
    [
        ([(0.0, False, True)], ["leave"], 0),
        ([(0.0, False, False), (3.0, False, True)], ["clear", "leave"], 0),
        ([(0.0, False, False), (1.0, False, True)], ["clear", "leave"], 0),
        ([(0.0, True, True), (1.0, True, True)], ["stop", "leave"], 130),
        ([(0.0, True, True), (1.9, False, True)], ["stop", "leave"], 130),
        ([(0.0, True, True), (2.1, False, True)], ["stop", "leave"], 0),
        ([(0.0, True, True), (2.1, True, False)], ["stop", "stop"], 0),
        ([(0.0, True, True), (1.0, True, True), (1.1, True, True)], ["stop", "leave", "end"], 130),
        ([(0.0, True, False), (3.0, False, False)], ["stop", "clear"], 0),
        ([(0.0, True, False), (3.0, True, False), (6.0, True, False)], ["stop", "stop", "stop"], 0),
        ([(0.0, False, False), (1.0, True, False)], ["clear", "leave"], 130),
        ([(0.0, False, False), (3.0, False, False), (4.0, False, False)], ["clear", "clear", "leave"], 0),
        ([(0.0, True, False), (3.0, False, False), (4.0, False, False)], ["stop", "clear", "leave"], 0),
    ],
)
def test_what_ctrl_c_means(presses: list[tuple[float, bool, bool]], answers: list[str], code: int) -> None:
    count = Presses()
    assert [count.press(now, runs=runs, is_empty=empty) for now, runs, empty in presses] == answers
    assert count.code == code


def test_a_pager_moves_finds_and_gives_the_screen_back() -> None:
    far = Far(20, 5)
    pager = Pager(far.tty, PAINTER, "T", [f"line {at}" for at in range(20)])
    pager.draw()
    assert far.rows()[:4] == ["line 0", "line 1", "line 2", "line 3"]
    for key, first in (("down", 1), (" ", 5), ("b", 1), ("G", 16), ("g", 0)):
        pager.key(key, key)
        pager.draw()
        assert far.rows()[0] == f"line {first}"
    for key in "/LINE 12":
        pager.key(key, key)
    pager.key("c-m", "\r")
    pager.draw()
    assert far.rows()[0] == "line 12"
    before = far.tty.written
    pager.draw()
    assert far.tty.written == before
    pager.key("q", "q")
    assert not pager.is_open
    far.close()


def test_an_interrupted_pager_is_closed_by_the_next_who_closes_it() -> None:
    far = Far()
    pager = Pager(far.tty, PAINTER, "T", ["line"])
    far.tty.ends = True
    with pytest.raises(InterruptedError):
        pager.close()
    assert pager.is_open
    pager.close()
    assert not pager.is_open
    assert far.more().endswith(b"\x1b[?1049l")
    far.close()


def test_rows_that_an_interrupted_erasing_took_away_are_not_taken_from_what_is_above() -> None:
    far = Far()
    screen = Screen(far.tty, PAINTER)
    screen.draw([Text("one"), Text("two")], picture("x", "y", row=1))
    far.tty.ends = True
    with pytest.raises(InterruptedError):
        screen.erase()
    screen.erase()
    assert far.rows() == ["one", "two", "", "", "", ""]
    far.close()


@pytest.mark.parametrize(
    ("columns", "rows", "grid"),
    [(80, 24, (16, 12)), (200, 60, (24, 12)), (20, 6, (4, 2)), (24, 10, (4, 6)), (19, 24, None), (80, 5, None)],
)
def test_how_large_the_rain_is(columns: int, rows: int, grid: tuple[int, int] | None) -> None:
    assert rain.grid_for(columns, rows) == grid


def test_a_seed_gives_the_same_rain_and_it_falls() -> None:
    grid = rain.Grid(4, 6)
    one, other = (list(itertools.islice(rain.frames(grid, (1, 2, 3), 5), 30)) for _ in range(2))
    assert one == other
    assert len(set(one)) > 10
    assert {len(frame) for frame in one} == {grid.pixels[0] * grid.pixels[1] * 4}
    lit = [pixel for frame in one for pixel in zip(*[iter(frame)] * 4, strict=True) if pixel[3]]
    assert (1, 2, 3) in {pixel[:3] for pixel in lit}
    assert max(pixel[3] for pixel in lit) < 255


def test_glyphs_are_whole_and_each_is_its_own() -> None:
    assert all(len(glyph) == HEIGHT and {len(row) for row in glyph} == {WIDTH} for glyph in GLYPHS)
    assert len(set(GLYPHS)) == len(GLYPHS) >= 30


def test_a_frame_names_its_pixels_in_few_bytes() -> None:
    written = kitty.place("/smith-12345-0123456789", (144, 96), kitty.Strip(1, 48, 12))
    assert written.startswith("\x1b[?2026h\x1b7\x1b[13A\x1b[1G\x1b_Ga=T,i=")
    assert written.endswith("\x1b\\\x1b8\x1b[?2026l")
    assert ",c=48,r=12,z=-10,C=1,q=2;" in written
    assert len(written) < 200


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        (b"\x1b_Gi=1;OK\x1b\\\x1b[?62;c", b""),
        (b"ab\x1b_Gi=1;EBADF:x\x1b\\c\x1b[?1;2cd", b"abcd"),
        (b"\x1b[A\x1b", b"\x1b[A\x1b"),
        (b"a\x1b_Gi=1;O", b"a"),
    ],
)
def test_answers_of_a_terminal_are_no_keys(sent: bytes, typed: bytes) -> None:
    assert kitty.without_answers(sent) == typed


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm"}, "standard"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "xterm-kitty", "NO_COLOR": "1"}, None),
        ({}, None),
    ],
)
def test_how_many_colours_there_are(environ: dict[str, str], colours: str | None) -> None:
    assert depth(environ) == colours


def test_the_status_line_says_what_is_known_and_drops_what_has_no_room() -> None:
    conversation = Conversation()
    facts = Facts("m", "direct", "prompt", "~/project")
    assert bar(facts, conversation, 80).plain == "  m · direct · prompt · ~/project"
    conversation.context, conversation.usage = 12_345, Usage(input=1000, cache_read=500, output=42)
    whole = "  m · direct · prompt · 12.3k context · 1.5k in, 42 out · ~/project"
    assert bar(facts, conversation, 80).plain == whole
    assert bar(facts, conversation, 30).plain == f"{whole[:29]}…"
    conversation.cost = 0.0123
    assert bar(facts, conversation, 80).plain.endswith(" · 1.5k in, 42 out · $0.0123 · ~/project")
    assert [tokens(count) for count in (999, 1000, 2_500_000)] == ["999", "1.0k", "2.5M"]


def test_the_sign_moves_unless_it_rains_or_a_person_is_waited_for() -> None:
    conversation = Conversation()
    assert activity(conversation, [], 0.0, began=None, rains=False) is None
    conversation.running, conversation.status = True, "tool"
    moving = activity(conversation, ["worker", "explorer"], 12.35, began=10.0, rains=False)
    still = activity(conversation, ["worker"], 12.35, began=10.0, rains=True)
    conversation.status = "waiting"
    asking = activity(conversation, [], 17.0, began=10.0, rains=False)
    assert moving is not None
    assert moving.plain == f"{spinner.frame(12.35)} waiting for Niobe (worker), Link (explorer) · 2 s · Esc stops"
    assert still is not None
    assert still.plain == "· waiting for Niobe (worker) · 2 s · Esc stops"
    assert asking is not None
    assert asking.plain == "· waiting for your answer"


@pytest.mark.parametrize(
    ("status", "holder", "said"),
    [
        ("tool", {}, "working · Esc stops"),
        ("tool", {"face": "Neovim"}, "working or waiting for an answer in Neovim"),
        ("thinking", {"host": "far"}, "thinking in far"),
    ],
    ids=["own", "of an editor", "of another machine"],
)
def test_a_turn_that_began_before_it_was_seen_has_no_clock_and_esc_stops_only_an_own_one(
    status: Status, holder: dict[str, str], said: str
) -> None:
    conversation = Conversation()
    conversation.running, conversation.status, conversation.holder = True, status, holder
    row = activity(conversation, [], 28_707.0, began=None, rains=False)
    assert row is not None
    assert row.plain == f"{spinner.frame(28_707.0)} {said}"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("/site/new/home/shop", "/site/new/home/shop"),
        ("/site/newcomer/home/shop", "…/home/shop"),
        ("/a/very-long-name-of-a-folder", "…g-name-of-a-folder"),
    ],
    ids=["whole", "last components", "end of the last one"],
)
def test_the_status_line_keeps_the_end_of_a_folder(place: str, shown: str) -> None:
    row = bar(Facts("m", "direct", "prompt", place), Conversation(), 43).plain
    assert row == f"  m · direct · prompt · {shown}"


def test_the_foot_of_a_page_has_room_for_all_that_it_says() -> None:
    far = Far(80, 4)
    pager = Pager(far.tty, PAINTER, "Conversation", ["line"] * 5678, at_end=True)
    pager.draw()
    assert far.rows()[-1] == "Conversation · 5678 of 5678 · q leaves · space, b, g, G move · /, n find"
    far.close()
