"""The session as a person at a terminal has it."""

import secrets
import signal
import time
from pathlib import Path

import apsw
import pytest

from tests.e2e.processes import living
from tests.e2e.world import World
from tests.tui.terminal import Terminal

TOUCH = [{"call": "bash", "arguments": {"command": "touch ran"}}]
DONE = [{"text": "Done.\n"}]
PANEL = "? May I run bash touch ran?"
CHOICES = "y yes · n no · a always · Esc no"
UNCHOSEN = "Tab: answer this"


def asked(terminal: Terminal) -> None:
    terminal.ready()
    terminal.sends("do it")
    terminal.sees(PANEL)
    terminal.sees(CHOICES)


def test_an_answer_streams_into_the_scrollback_and_ctrl_d_leaves_everything_as_it_was(world: World) -> None:
    world.script([{"text": "# Title\n\nHello **there**.\n\n- one\n- two\n", "size": 3, "delay": 0.005}])
    with Terminal(world, "chat") as terminal:
        terminal.ready()
        terminal.sends("hi")
        terminal.sees("• two")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
        assert "❯ hi\n\nTitle\n\nHello there.\n\n• one\n• two\n" in terminal.text
        assert terminal.text.count("Hello there.") == 1
        terminal.sees("smith: to go on: smith chat -c")
        assert terminal.commands == []


def test_without_a_model_the_session_says_what_to_do_before_anything_is_typed(world: World) -> None:
    world.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sees("! No model to talk to.")
        terminal.sees("OPENROUTER_API_KEY")
        terminal.sends("hello")
        terminal.sees("✗ No model to talk to; see above.")
        terminal.until("the prompt is typed again", lambda: "❯ hello" in terminal.screen)
        assert terminal.text.count("OPENROUTER_API_KEY") == 1
        terminal.presses("ctrl-c")
        terminal.ready()


def test_the_small_model_says_that_it_starts_before_anything_is_typed(world: World) -> None:
    world.slow_small_model()
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sees("i Starting the small model on this machine, which takes some seconds.")
        terminal.presses("ctrl-d")
        assert terminal.code() == 0


@pytest.mark.parametrize(
    ("key", "ran", "said"),
    [("y", True, "allowed"), ("n", False, "refused"), ("a", True, "always allowed"), ("\x1b", False, "refused")],
    ids=["yes", "no", "always", "escape"],
)
def test_a_question_is_a_panel_that_one_key_answers(world: World, key: str, ran: bool, said: str) -> None:
    world.script(TOUCH, DONE)
    with Terminal(world) as terminal:
        asked(terminal)
        assert not (world.root / "ran").exists()
        terminal.types(key)
        terminal.sees("Done.")
        terminal.ready()
        assert f"  {said}: bash touch ran" in terminal.text
        assert PANEL not in terminal.text
    assert (world.root / "ran").exists() == ran


def test_a_panel_that_appears_while_a_text_is_typed_gets_no_key_until_the_person_moves_to_it(world: World) -> None:
    world.script([{"wait": 0.5}, *TOUCH], DONE, [{"text": "Second.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("do it")
        terminal.types("yes, a")
        terminal.sees(PANEL)
        terminal.sees(UNCHOSEN)
        terminal.types("n y")
        terminal.sees("❯ yes, an y")
        assert not (world.root / "ran").exists()
        terminal.presses("tab")
        terminal.sees(CHOICES)
        terminal.types("y")
        terminal.sees("Done.")
        terminal.sees("❯ yes, an y")
        terminal.presses("enter")
        terminal.sees("Second.")
    assert (world.root / "ran").exists()


def test_a_text_typed_at_a_question_is_no_answer_to_it(world: World) -> None:
    world.script(TOUCH, DONE)
    with Terminal(world) as terminal:
        asked(terminal)
        terminal.types("why")
        terminal.sees("❯ why")
        terminal.sees(UNCHOSEN)
        terminal.pastes("y")
        terminal.sees("❯ whyy")
        assert not (world.root / "ran").exists()
        terminal.presses("ctrl-c")
        terminal.sees("Cancelled.")
        assert "not answered: bash touch ran" in terminal.text


@pytest.mark.parametrize("key", ["esc", "ctrl-c"])
def test_a_turn_is_stopped_and_what_waited_can_be_sent_again(world: World, key: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"echo begun; sleep {mark}"}}], [{"text": "Fine.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("    begun")
        terminal.sends("and then this")
        terminal.sees("next: and then this")
        terminal.presses(key)
        terminal.sees("Cancelled.")
        terminal.sees("❯ and then this")
        assert not living(mark)
        terminal.presses("enter")
        terminal.sees("Fine.")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0


@pytest.mark.parametrize(("runs", "code"), [(True, 130), (False, 0)], ids=["while a turn runs", "idle"])
def test_ctrl_c_leaves(world: World, runs: bool, code: int) -> None:
    world.script([{"text": "Begun.\n"}, {"wait": 60}])
    with Terminal(world) as terminal:
        terminal.ready()
        if runs:
            terminal.sends("go")
            terminal.sees("Begun.")
            terminal.presses("ctrl-c")
            terminal.sees("Cancelled.")
        terminal.presses("ctrl-c")
        assert terminal.code() == code


def test_ctrl_c_and_escape_clear_a_text_that_was_not_sent(world: World) -> None:
    with Terminal(world) as terminal:
        terminal.ready()
        for key in ("ctrl-c", "esc"):
            terminal.types("something")
            terminal.sees("❯ something")
            terminal.presses(key)
            terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["term", "hang-up"])
def test_a_signal_in_the_middle_of_a_turn_leaves_nothing_running(world: World, number: signal.Signals) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"echo begun; sleep {mark}"}}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("    begun")
        terminal.signals(number)
        assert terminal.code() == 128 + number
        assert not living(mark)


def test_five_hundred_pasted_lines_are_one_prompt(world: World) -> None:
    lines = [f"line {number}" for number in range(500)]
    world.script([{"text": "Got it.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.pastes("\r".join(lines))
        terminal.sees("line 499")
        terminal.sees("500 of 500 rows")
        terminal.presses("enter")
        terminal.sees("Got it.")
        terminal.ready()
        terminal.presses("alt-h")
        terminal.sees("Conversation · ")
        terminal.types("/line 250\r")
        terminal.until("it is found", lambda: terminal.screen[0] == "  line 250")
        terminal.types("q")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
        assert "  … 488 more lines" in terminal.text


def test_a_command_is_completed_with_tab_and_never_reaches_the_model(world: World) -> None:
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.types("/us")
        terminal.sees("/usage  show what was used")
        terminal.presses("tab")
        terminal.sees("❯ /usage")
        terminal.presses("enter")
        terminal.ready()
        terminal.sees("i requests               0")
        terminal.sends("/histroy")
        terminal.sees("Did you mean /history?")
        terminal.presses("up")
        terminal.sees("❯ /histroy")
        terminal.presses("up")
        terminal.sees("❯ /usage")
        terminal.presses("ctrl-c")
        terminal.types("/config set act")
        terminal.sees("  active_role")
        terminal.presses("tab")
        terminal.types(" orch")
        terminal.sees("  orchestrator")
        terminal.presses("tab", "enter")
        terminal.sees('active_role = "orchestrator", from the next turn on.')
        terminal.sees("  orchestrator · prompt")


@pytest.mark.parametrize(
    ("typed", "shown", "offered"),
    [
        ("/hist", "❯ /history", ""),
        ("/config se", "❯ /config set", ""),
        ("/config set cont", "❯ /config set context_management.", "context_management.summarize"),
        ("/config set ", "❯ /config set", "active_role"),
    ],
    ids=["only candidate", "only argument", "common beginning", "nothing in common"],
)
def test_tab_right_behind_a_text_waits_for_what_completes_it(
    world: World, typed: str, shown: str, offered: str
) -> None:
    with Terminal(world, rows=40) as terminal:
        terminal.ready()
        terminal.types(f"{typed}\t")
        terminal.until(f"{shown!r} typed", lambda: shown in terminal.screen)
        terminal.sees(offered)
        terminal.presses("ctrl-c")
        terminal.ready()


def test_what_a_model_or_a_tool_says_is_never_obeyed(world: World) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x1b_Ga=T,i=9;AAAA\x1b\\\x9b31m\x08\r\u202eevil"
    world.file("evil.txt", evil + "\n")
    world.settings('[approval]\nmode = "auto"\n')
    world.script(
        [{"text": f"{evil}\n"}, {"call": "bash", "arguments": {"command": "cat evil.txt; sleep 0.3 # \x1b[5m"}}],
        [{"text": "Over.\n"}],
    )
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("say it")
        terminal.sees("Over.")
        terminal.ready()
        terminal.presses("alt-h")
        terminal.sees("Conversation · ")
        terminal.types("q")
        terminal.ready()
        assert terminal.commands == []
        for sequence in (b"\x1b]", b"\x07", b"\x1b[5m", "\x9b".encode(), "\u202e".encode(), b"\x1b[31mevil"):
            assert sequence not in terminal.raw


def test_a_conversation_goes_on_and_shows_what_was_said(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("hi")
        terminal.sees("Hello there.")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
    world.script([{"text": "Still here.\n"}])
    with Terminal(world, "chat", "--continue") as terminal:
        terminal.sees("❯ hi\n\nHello there.")
        terminal.ready()
        terminal.sends("go on")
        terminal.sees("Still here.")
        terminal.ready()
        terminal.presses("alt-i")
        terminal.sees("assistant, 13 characters")
        terminal.presses("esc")
        terminal.ready()


def test_redraw_shows_the_conversation_again_on_an_empty_screen(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("hi")
        terminal.sees("Hello there.")
        terminal.ready()
        before = terminal.screen
        terminal.presses("ctrl-l")
        terminal.until("it is cleared", lambda: b"\x1b[H\x1b[2J" in terminal.raw)
        terminal.ready()
        assert [line for line in terminal.screen if line] == [line for line in before if line]


async def test_a_conversation_of_an_editor_goes_on_in_the_terminal(world: World) -> None:
    world.script([{"text": "Said in the editor.\n"}])
    client = await world.server()
    await client.run("smith.turn", text="hello from the editor")
    await client.close()
    world.script([{"text": "Said in the terminal.\n"}])
    with Terminal(world, "chat", "-c") as terminal:
        terminal.sees("❯ hello from the editor\n\nSaid in the editor.")
        terminal.ready()
        terminal.sends("and on")
        terminal.sees("Said in the terminal.")
        terminal.ready()
        terminal.sends("/usage")
        terminal.sees("i requests               2")


def test_a_setting_opens_the_last_conversation_and_new_begins_another(world: World) -> None:
    world.settings('[terminal]\nresume = "project"\n')
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("hi")
        terminal.sees("Hello there.")
        terminal.ready()
        terminal.presses("ctrl-d")
        terminal.code()
    with Terminal(world) as terminal:
        terminal.sees("❯ hi\n\nHello there.")
        terminal.ready()
        terminal.sends("/new")
        terminal.sees("i A new conversation.")
        terminal.ready()
        terminal.presses("alt-h")
        terminal.sees("Conversation · 0 of 0")
        terminal.types("q")
        terminal.ready()
        terminal.sends("/quit")
        assert terminal.code() == 0


def test_keys_that_come_while_it_starts_are_typed(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world, graphics=True) as terminal:
        terminal.until("it asks its terminal", lambda: terminal.commands)
        terminal.types("early\r")
        terminal.sees("Hello there.")
        assert "❯ early" in terminal.text


def test_ctrl_z_gives_the_terminal_back_and_the_text_is_kept(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.types("kept")
        terminal.sees("❯ kept")
        terminal.presses("ctrl-z")
        terminal.until("it is stopped", terminal.is_stopped)
        terminal.until("the terminal is given back", lambda: terminal.raw.endswith(b"\x1b[?2004l"))
        terminal.signals(signal.SIGCONT)
        terminal.until("it is drawn again", lambda: terminal.raw.count(b"\x1b[?2004h") == 2)
        terminal.sees("❯ kept")
        terminal.presses("enter")
        terminal.sees("Hello there.")


def test_a_diff_that_has_no_room_can_be_viewed_before_it_is_answered(world: World) -> None:
    text = "".join(f"line {number}\n" for number in range(60))
    world.script([{"call": "write", "arguments": {"path": "new.txt", "content": text}}], DONE)
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("write it")
        terminal.sees("Esc no · v view all")
        terminal.types("v")
        terminal.sees("Question · ")
        terminal.types("G")
        assert "y yes" not in "\n".join(terminal.screen)
        terminal.sees("    +line 59")
        terminal.types("q")
        terminal.sees("v view all")
        terminal.types("y")
        terminal.sees("Done.")
    assert (world.root / "new.txt").read_text() == text


def test_earlier_inputs_are_there_in_the_next_session_and_for_this_user_alone(world: World) -> None:
    world.script([{"text": "Hello there.\n"}], loop=True)
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.pastes("the first\nof two lines")
        terminal.sees("of two lines")
        terminal.presses("enter")
        terminal.sees("Hello there.")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.presses("up")
        terminal.sees("❯ the first\n  of two lines")
    assert (world.home / "smith" / "history").stat().st_mode & 0o777 == 0o600


def test_a_second_signal_ends_at_once_and_gives_the_terminal_back(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": "trap '' TERM; echo begun; sleep 59.25"}}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("    begun")
        terminal.signals(signal.SIGTERM)
        terminal.signals(signal.SIGTERM)
        assert terminal.code() == 143


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_window_that_is_closed_while_signals_come_leaves_no_process(world: World, number: signal.Signals) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.signals(number)
        terminal.closes()
        terminal.signals(signal.SIGHUP)
        assert terminal.ends() in (128 + number, 129)


def test_a_signal_that_comes_while_a_session_begins_ends_it(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
    store = apsw.Connection(str(next(world.home.rglob("smith.db"))))
    store.execute("BEGIN EXCLUSIVE")
    with Terminal(world) as terminal:
        terminal.until("it takes signals", lambda: takes(terminal.pid, signal.SIGTERM))
        terminal.signals(signal.SIGTERM)
        store.execute("ROLLBACK")
        assert terminal.code() == 143


def takes(process: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def test_ctrl_c_as_often_as_one_likes_gives_the_terminal_back_whole(world: World) -> None:
    world.script([{"text": "Hello there.\n"}])
    with Terminal(world) as terminal:
        terminal.ready()
        for _ in range(3):
            terminal.signals(signal.SIGINT)
        assert terminal.code() in (0, 130)


def test_a_terminal_that_takes_no_output_keeps_nobody_from_ending_it(world: World) -> None:
    world.script([{"text": "word " * 200_000, "size": 200, "delay": 0.001}])
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("word word")
        terminal.stops_reading()
        terminal.until("no room for more output", terminal.is_full)
        terminal.signals(signal.SIGTERM)
        # Two that come at one moment are one.
        time.sleep(0.3)
        terminal.signals(signal.SIGTERM)
        assert terminal.ends() == 143
