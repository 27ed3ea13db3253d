"""The whole session by keys alone, in a real terminal multiplexer."""

from pathlib import Path

from tests.e2e.processes import living
from tests.e2e.world import World
from tests.tui.tmux import Tmux

TOUCH = [{"call": "bash", "arguments": {"command": "touch ran"}}]


def test_prompt_stream_question_cancel_completion_paste_and_leave(world: World, tmp_path: Path) -> None:
    world.script(
        [{"text": "Hello **there**.\n", "size": 2, "delay": 0.01}],
        TOUCH,
        [{"text": "Refused.\n"}],
        TOUCH,
        [{"text": "Done.\n"}],
        [{"call": "bash", "arguments": {"command": "sleep 59.0625"}}],
        [{"text": "Long.\n"}],
    )
    with Tmux(world, tmp_path) as tmux:
        tmux.ready()
        tmux.sends("hi")
        tmux.sees("Hello there.")
        for answer, told in (("n", "Refused."), ("y", "Done.")):
            tmux.ready()
            tmux.sends(f"do it, {answer}")
            tmux.sees("y yes · n no · a always · Esc no")
            tmux.types(answer)
            tmux.sees(told)
            assert (world.root / "ran").exists() == (answer == "y")
        tmux.ready()
        tmux.sends("wait")
        tmux.sees("y yes · n no · a always · Esc no")
        tmux.types("y")
        tmux.until("it runs", lambda: living("sleep 59.0625"))
        tmux.presses("Escape")
        tmux.sees("i Cancelled.")
        assert not living("sleep 59.0625")
        tmux.types("/usa")
        tmux.sees("/usage  show what was used")
        tmux.presses("Tab", "Enter")
        tmux.sees("i requests")
        tmux.pastes("\n".join(f"line {number}" for number in range(500)))
        tmux.sees("500 of 500 rows")
        tmux.presses("Enter")
        tmux.sees("Long.")
        tmux.ready()
        tmux.presses("C-d")
        tmux.sees("CODE 0")
        tmux.sees(" echo ")
        assert b"\x1b_" not in tmux.raw


def test_another_size_leaves_one_live_region_and_the_conversation_whole(world: World, tmp_path: Path) -> None:
    world.script([{"text": "First answer.\n"}], [{"text": "Second answer.\n"}])
    with Tmux(world, tmp_path, columns=100, rows=30) as tmux:
        tmux.ready()
        tmux.sends("one")
        tmux.sees("First answer.")
        tmux.ready()
        tmux.types("a text that is there")
        for size in ((50, 16), (120, 40), (40, 12), (80, 24)):
            tmux.resizes(*size)
            tmux.until("drawn once", lambda: sum("❯ a text that is there" in line for line in tmux.screen) == 1)
            tmux.until("one status line", lambda: sum("script · direct" in line for line in tmux.screen) == 1)
        tmux.presses("Enter")
        tmux.sees("Second answer.")
        tmux.ready()
        lines = [line for line in tmux.text.splitlines() if line and "·" not in line and "verything" not in line]
        assert lines[-5:] == ["❯ one", "First answer.", "❯ a text that is there", "Second answer.", "❯"]
