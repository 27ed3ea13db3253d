"""`smith chat` as a person at a terminal has it."""

import secrets
import time
from collections.abc import Callable

import pytest

from tests.cli.terminal import Terminal
from tests.e2e.command import shell, smith
from tests.e2e.processes import living
from tests.e2e.world import World

QUESTION = "run it? y yes, n no, a always run "
TOUCH = [{"call": "bash", "arguments": {"command": "touch ran"}}]
AGAIN = [{"call": "bash", "arguments": {"command": "touch again"}}]
DONE = [{"text": "Done."}]


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.02)


def test_a_prompt_is_answered_and_ctrl_d_leaves_with_a_word_on_how_to_go_on(world: World) -> None:
    world.script([{"text": "Hello there.", "size": 3}])
    with Terminal(world, "chat") as terminal:
        terminal.prompted()
        terminal.types("hi")
        terminal.sees("Hello there.")
        terminal.prompted()
        terminal.presses("d")
        assert terminal.code() == 0
        assert "smith: to go on: smith chat -c" in terminal.shown


def test_without_a_model_the_chat_says_what_to_do_before_anything_is_typed(world: World) -> None:
    world.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.sees("smith: No model to talk to.")
        terminal.sees("OPENROUTER_API_KEY")


@pytest.mark.parametrize("word", ["exit", "quit", "/quit", " EXIT "])
def test_a_word_leaves_as_well_and_an_empty_chat_has_nothing_to_go_on_with(world: World, word: str) -> None:
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types(word)
        assert terminal.code() == 0
        assert "to go on" not in terminal.shown


@pytest.mark.parametrize(
    ("answers", "ran"),
    [(["y"], (True, False)), (["Yes", "n"], (True, False)), (["no"], (False, False)), (["a"], (True, True))],
    ids=["yes", "yes then no", "no", "always"],
)
def test_calls_are_asked_about(world: World, answers: list[str], ran: tuple[bool, bool]) -> None:
    world.script(TOUCH, AGAIN if len(answers) > 1 or answers == ["a"] else DONE, DONE)
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("do it")
        for answer in answers:
            terminal.sees("bash: touch ")
            terminal.sees(QUESTION)
            terminal.types(answer)
        terminal.sees("Done.")
        terminal.prompted()
    assert ((world.root / "ran").exists(), (world.root / "again").exists()) == ran


def test_an_answered_question_is_not_shown_again(world: World) -> None:
    world.script(TOUCH, [{"wait": 0.3}, {"text": "Done."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("do it")
        terminal.sees(QUESTION)
        terminal.types("y")
        terminal.sees("Done.")
        terminal.prompted()
        terminal.presses("d")
        assert terminal.code() == 0
        assert terminal.shown.count(QUESTION) == 1


def test_a_file_is_shown_as_a_diff_before_it_is_changed(world: World) -> None:
    path = world.file("a.py", "one\ntwo\n")
    world.script(
        [{"call": "read", "arguments": {"path": "a.py"}}],
        [{"call": "replace", "arguments": {"path": "a.py", "old": "two", "new": "\x1b[31m2"}}],
        DONE,
    )
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("change it")
        shown = terminal.sees(QUESTION)
        assert "-two\r\n" in shown
        assert "+[31m2\r\n" in shown
        assert path.read_text() == "one\ntwo\n"
        terminal.types("y")
        terminal.prompted()
        terminal.presses("d")
        assert terminal.code() == 0
    assert path.read_text() == "one\n\x1b[31m2\n"


def test_what_is_no_answer_to_a_question_is_kept_as_the_next_prompt(world: World) -> None:
    world.script(TOUCH, DONE, [{"text": "And that."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("do it")
        terminal.sees(QUESTION)
        terminal.types("you should do that as well")
        terminal.sees("the prompt waits")
        terminal.sees(QUESTION)
        assert not (world.root / "ran").exists()
        terminal.types("y")
        terminal.sees("Done.")
        terminal.sees("And that.")
        terminal.prompted()
    assert (world.root / "ran").exists()


def test_prompts_typed_meanwhile_run_in_order(world: World) -> None:
    world.script([{"wait": 0.5}, {"text": "First."}], [{"text": "Second."}], [{"text": "Third."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        for line in ("one", "two", "three"):
            terminal.types(line)
        for answer in ("First.", "Second.", "Third."):
            terminal.sees(answer)
        terminal.prompted()


def test_ctrl_c_stops_the_turn_gives_back_what_waited_and_the_next_prompt_works(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"sleep {mark}; touch ran"}}], [{"text": "Fine."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("go")
        until(lambda: bool(living(f"sleep {mark}")))
        terminal.types("and then this")
        terminal.sees("the prompt waits")
        terminal.presses("c")
        terminal.sees("smith: not sent: and then this")
        terminal.sees("smith: Cancelled.")
        terminal.prompted()
        assert not living(mark)
        terminal.types("again")
        terminal.sees("Fine.")
        terminal.prompted()
        terminal.presses("d")
        assert terminal.code() == 0
    assert not (world.root / "ran").exists()


def test_ctrl_c_withdraws_a_question(world: World) -> None:
    world.script(TOUCH, [{"text": "Fine."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("go")
        terminal.sees(QUESTION)
        terminal.presses("c")
        terminal.sees("smith: Cancelled.")
        terminal.prompted()
        terminal.types("y")
        terminal.sees("Fine.")
    assert not (world.root / "ran").exists()


@pytest.mark.parametrize(("runs", "code"), [(True, 130), (False, 0)], ids=["while a turn runs", "idle"])
def test_ctrl_c_twice_leaves(world: World, runs: bool, code: int) -> None:
    world.script([{"text": "Begun."}, {"wait": 60}])
    with Terminal(world) as terminal:
        terminal.prompted()
        if runs:
            terminal.types("go")
            terminal.sees("Begun.")
        terminal.presses("c")
        terminal.sees("smith: Cancelled." if runs else "Ctrl-C again")
        terminal.presses("c")
        assert terminal.code() == code


@pytest.mark.parametrize("how", ["Ctrl-D", "hang-up"])
def test_leaving_in_the_middle_of_a_turn_leaves_nothing_running(world: World, how: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"sleep {mark} & sleep {mark}"}}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("go")
        until(lambda: len(living(f"sleep {mark}")) > 1)
        if how == "Ctrl-D":
            terminal.presses("d")
        else:
            terminal.hangs_up()
        assert terminal.code() == (0 if how == "Ctrl-D" else 129)
        assert not living(mark)


def test_continue_goes_on_with_the_last_conversation_that_said_something(world: World) -> None:
    world.script([{"text": "Hello there."}])
    with Terminal(world, "chat") as terminal:
        terminal.prompted()
        terminal.types("hi")
        terminal.sees("Hello there.")
        terminal.prompted()
    with Terminal(world, "chat") as terminal:
        terminal.prompted()
        terminal.presses("d")
        terminal.code()
    world.script([{"text": "Still here."}])
    with Terminal(world, "chat", "-c") as terminal:
        terminal.prompted()
        terminal.types("/pager")
        assert "Hello there." in terminal.prompted()
        terminal.types("go on")
        terminal.sees("Still here.")


def test_commands_answer_and_never_reach_the_model(world: World) -> None:
    world.script([{"text": "A slash."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.types("/usage")
        assert "requests               0" in terminal.prompted()
        terminal.types("/histroy")
        assert "Did you mean /history?" in terminal.prompted()
        terminal.types("")
        terminal.prompted()
        terminal.types("//etc is a folder")
        terminal.sees("A slash.")
        terminal.prompted()
        terminal.types("/pager")
        assert "/etc is a folder" in terminal.prompted()


async def test_a_conversation_that_is_open_elsewhere_says_so_and_a_prompt_does_not_end_the_chat(world: World) -> None:
    world.script(DONE, loop=True)
    client = await world.server()
    await client.run("smith.turn", text="one")
    with Terminal(world, "chat", "-c") as terminal:
        terminal.sees(
            "smith: This conversation is open elsewhere (editor) and is shown read-only; /take-over and /fork"
        )
        terminal.prompted()
        terminal.types("mine")
        terminal.sees("smith: This conversation is open in editor")
        terminal.prompted()
        terminal.types("/fork")
        terminal.sees("This is a copy of")
        terminal.types("mine again")
        terminal.sees("Done.")


def test_bytes_that_are_no_text_do_not_end_it(world: World) -> None:
    world.script([{"text": "Odd."}])
    with Terminal(world) as terminal:
        terminal.prompted()
        terminal.sends(b"caf\xe9 \xff\n")
        terminal.sees("Odd.")


async def test_lines_from_a_pipe_run_one_after_the_other_and_nobody_is_asked(world: World) -> None:
    world.script([{"text": "First."}], TOUCH, [{"text": "Second."}])
    done = await shell(world, "printf 'one\\ntwo\\ny\\n/usage\\n' | head -2 | $smith chat")
    assert (done.code, done.out) == (3, "First.\nSecond.\n")
    assert "to go on: smith chat -c" in done.err
    assert not (world.root / "ran").exists()


async def test_a_command_from_a_pipe_waits_for_the_turn_before_it(world: World) -> None:
    world.script([{"text": "First."}])
    done = await shell(world, "printf 'one\\n/usage\\nexit\\nnever\\n' | $smith")
    assert done.code == 0
    assert done.out.startswith("First.\nrequests               1\n")


async def test_without_any_provider_it_says_what_to_set(world: World) -> None:
    world.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    done = await smith(world, "run", "hi")
    assert (done.code, done.out) == (1, "")
    assert "OPENROUTER_API_KEY" in done.err


def test_a_terminal_that_only_prints_lines_gets_a_sign_that_writes_over_itself_and_no_control(world: World) -> None:
    dispatch = {"role": "explorer", "task": "look", "context": {"user_request_summary": "look"}}
    report = {"status": "ok", "summary": "seen", "findings": [], "evidence": []}
    world.script(
        [{"call": "dispatch", "arguments": dispatch}],
        [{"text": "Over.\n"}],
        others={"look": [[{"wait": 0.8}, {"call": "report", "arguments": report}]]},
    )
    with Terminal(world, TERM="dumb") as terminal:
        terminal.prompted()
        terminal.types("go")
        terminal.sees("\r⠋ waiting for explorer")
        terminal.sees("\r")
        terminal.sees("explorer ok: seen")
        terminal.sees("Over.")
        terminal.prompted()
        terminal.presses("d")
        assert terminal.code() == 0
        assert "\x1b" not in terminal.shown


@pytest.mark.parametrize("words", [["chat", "--tui"], ["--tui"]])
async def test_to_draw_without_a_terminal_says_so_and_falls_back_to_lines(world: World, words: list[str]) -> None:
    world.script([{"text": "First."}])
    done = await shell(world, f"echo one | $smith {' '.join(words)}")
    assert (done.code, done.out) == (0, "First.\n")
    assert "smith: Standard input or output is no terminal, so this is the session in plain lines." in done.err
