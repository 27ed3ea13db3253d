import time
from pathlib import Path

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

DELTAS = 5000
WATCH = """
    _G.gaps = {}
    local last = vim.uv.hrtime()
    _G.watch = vim.uv.new_timer()
    _G.watch:start(1, 1, function()
      local now = vim.uv.hrtime()
      table.insert(_G.gaps, (now - last) / 1e6)
      last = now
    end)
"""


def fill(server: TestServer, blocks: int) -> None:
    for number in range(blocks):
        line = "Words of an answer with `code` and **bold** things.\n"
        server.event("llm_output_delta", message=f"old{number}", text=line * 190)
        server.event("tool_call_started", call_id=f"c{number}", name="bash", arguments="{}", title="make")
        server.event("tool_call_finished", call_id=f"c{number}", name="bash", ok=True, summary="", content="out\n" * 9)


@pytest.mark.parametrize("blocks", [0, 100], ids=["new chat", "chat of 1 MB"])
def test_a_long_stream_arrives_whole_while_the_editor_goes_on(
    editor: TestEditor, server: TestServer, project: Path, blocks: int
) -> None:
    editor.edit(project / "a.txt")
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    editor.keys("igo")
    began = time.monotonic()
    editor.keys("<C-s>")
    until(lambda: server.commands("smith.turn"))
    print(f"key to request, ms: {(time.monotonic() - began) * 1000:.1f}")
    server.event("turn_started", text="go", model="m", provider="p")
    fill(server, blocks)
    server.request("smith/readBuffer", {"uri": "file:///none"})
    editor.lua(WATCH)
    words = [f"token {number}" + ("\n" if number % 15 == 14 else " ") for number in range(DELTAS)]
    began = time.monotonic()
    for word in words:
        server.event("llm_output_delta", message="m", text=word)
    server.request("smith/readBuffer", {"uri": "file:///none"})
    print(f"5,000 pieces, ms: {(time.monotonic() - began) * 1000:.1f}")
    expected = "".join(words).rstrip("\n").split("\n")
    chat = editor.chat()
    until(lambda: editor.lines(chat)[-len(expected) - 1 : -1] == expected)
    gaps = sorted(editor.lua("_G.watch:stop() return _G.gaps"))
    print(f"longest gap, ms: {gaps[-1]:.1f}")
    print(f"gap p99, ms: {gaps[int(len(gaps) * 0.99)]:.1f}")
    editor.keys(" and typed on<Esc>")
    assert until(lambda: editor.lines(chat)[-1] == " and typed on")
