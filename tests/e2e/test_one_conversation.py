"""One conversation, begun in an editor and gone on with in a terminal."""

import pytest

from tests.e2e.neovim import Neovim
from tests.e2e.world import World
from tests.tui.terminal import Terminal


@pytest.mark.nvim
def test_a_conversation_begun_in_neovim_goes_on_in_the_terminal(world: World) -> None:
    world.script([{"text": "Hello from here."}])
    nvim = Neovim(world)
    nvim.send("Remember the word zebra.")
    nvim.shows("Hello from here.")
    nvim.close()
    world.script([{"text": "It was zebra."}])
    with Terminal(world, "chat", "-c") as terminal:
        terminal.sees("❯ Remember the word zebra.\n\nHello from here.")
        terminal.ready()
        terminal.sends("What was it?")
        terminal.sees("❯ What was it?\n\nIt was zebra.")
