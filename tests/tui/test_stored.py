"""Conversations out of the store at a terminal: resumed, emptied, written by another process."""

import pytest

from tests.e2e.client import Client
from tests.e2e.test_dispatch import call, dispatch, report
from tests.e2e.world import World
from tests.tui.terminal import Terminal

GOOD = [{"text": "All is well.\n"}]
READ_ONLY = "  read-only · "


async def lost_to_an_editor(world: World, terminal: Terminal) -> tuple[Client, str]:
    """A conversation that begins in the terminal and is then taken over by an editor."""
    terminal.ready()
    terminal.sends("first")
    terminal.sees("All is well.")
    terminal.ready()
    client = await world.server()
    [row] = (await client.run("smith.conversations", op="list"))["conversations"]
    await client.run("smith.conversations", op="take_over", conversation=row["id"])
    return client, row["id"]


@pytest.mark.parametrize(
    ("line", "said"), [("/fork", "i This is a copy of"), ("/take-over", "i This conversation goes")]
)
async def test_what_an_editor_has_taken_over_is_read_only_follows_and_can_be_gone_on_with(
    world: World, line: str, said: str
) -> None:
    world.script(GOOD, loop=True)
    with Terminal(world, columns=100, rows=12) as terminal:
        client, name = await lost_to_an_editor(world, terminal)
        terminal.sends("mine")
        terminal.sees(
            "! This conversation is open elsewhere (editor) and is shown read-only; /take-over and /fork go on"
        )
        terminal.sees("✗ This conversation is open in editor (process")
        terminal.sees("/fork in a copy.")
        assert "do that" not in terminal.text
        terminal.sees("❯ mine")
        assert any(row.startswith(READ_ONLY) for row in terminal.screen)
        await client.run("smith.turn", text="from the editor", conversation=name)
        terminal.sees("❯ from the editor\n\nAll is well.")
        terminal.presses("ctrl-c")
        terminal.ready()
        terminal.sends(line)
        terminal.sees(said)
        assert not any(row.startswith(READ_ONLY) for row in terminal.screen)
        terminal.sends("mine again")
        terminal.sees("❯ mine again\n\nAll is well.")
        assert terminal.text.count("❯ first\n") == (1 if line == "/take-over" else 2)
        await client.stop()


async def test_what_an_editor_leaves_can_be_written_again(world: World) -> None:
    world.script(GOOD, loop=True)
    with Terminal(world) as terminal:
        client, _ = await lost_to_an_editor(world, terminal)
        terminal.sends("mine")
        terminal.sees("✗ This conversation is open in editor")
        terminal.sees("❯ mine")
        await client.stop()
        terminal.sees("i Nobody else has this conversation open any more.")
        terminal.presses("enter")
        terminal.sees("❯ mine\n\nAll is well.")
        assert terminal.text.count("❯ first\n") == 1


def test_children_of_a_resumed_conversation_stand_under_their_call(world: World) -> None:
    world.settings('active_role = "orchestrator"\n')
    world.file("a.py", "one\n")
    look = [[call("read", path="a.py")], report(findings=["one"], evidence=["a.py:1"])]
    world.script([dispatch("explorer", "look at a")], [{"text": "Done.\n"}], others={"look at a": look})
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("go")
        terminal.sees("Done.")
        terminal.ready()
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
    with Terminal(world, "chat", "-c") as terminal:
        terminal.sees("❯ go\n\n✓ dispatch look at a\n")
        terminal.sees("Done.")
        terminal.ready()
        terminal.presses("alt-h")
        terminal.sees("\n    explorer: read a.py\n    explorer: report")


def test_an_emptied_conversation_is_drawn_anew_and_the_answer_stands_in_it(world: World) -> None:
    world.script(GOOD, loop=True)
    with Terminal(world) as terminal:
        terminal.ready()
        terminal.sends("first")
        terminal.sees("All is well.")
        terminal.ready()
        terminal.sends("/clear")
        terminal.sees("i 2 messages are gone.")
        assert "All is well." not in "\n".join(terminal.screen)
        terminal.sends("second")
        terminal.sees("i 2 messages are gone.\n\n❯ second\n\nAll is well.")
        terminal.ready()
        terminal.sends("/quit")
        assert terminal.code() == 0
