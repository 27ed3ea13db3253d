"""Row 13: from a key in Neovim to the request, and from the first byte to the whole text in the buffer."""

import asyncio
from functools import partial

from benchmarks.bench import REST, Bench, in_turn
from benchmarks.editor import PLUGIN, Neovim, find
from benchmarks.figures import MS, Pair, Row, against
from benchmarks.place import FLOORS
from benchmarks.replies import Reply, says, streams

_REST = 0.3
"""Seconds in which an editor may finish what it does behind the last words."""

_SETUP = """
local plugin, command = ...
vim.opt.rtp:prepend(plugin)
vim.cmd('runtime plugin/smith.lua')
require('smith').setup({ cmd = command, start_insert = false })
require('smith').open()
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.bo[buf].filetype == 'smith-chat' then
    return buf
  end
end
"""


def missing() -> str:
    """Why this cannot be measured, or ""."""
    if not find():
        return "Neovim is not installed"
    return "" if (PLUGIN / "plugin").is_dir() else "the plug-in is not there"


async def neovim(bench: Bench) -> list[Row]:
    """The program in Neovim beside a bare client, warm."""
    submit, whole = Pair([], []), Pair([], [])
    product, floor = await _product(bench), await _floor(bench)

    async def once(editor: Neovim, typed: str, submits: list[float], wholes: list[float]) -> None:
        last = f"That was all of {len(wholes)}."
        reply = streams(bench.scale.shown, last)
        pressed, complete = await _turn(bench, editor, typed, reply, last)
        asked = bench.model.seen[0]
        submits.append((asked.arrived - pressed) * MS)
        wholes.append((complete - asked.first_sent) * MS)

    try:
        await in_turn(
            bench.few * 2,
            partial(once, product, "ihello<Esc>", submit.product, whole.product),
            partial(once, floor, "", submit.floor, whole.floor),
        )
    finally:
        await product.close()
        await floor.close()
    return [
        against("13", "Neovim: key -> request on the wire", submit, 6),
        against("13", f"Neovim: {bench.scale.shown} tokens, first byte -> all in the buffer", whole, 2),
    ]


async def _product(bench: Bench) -> Neovim:
    place = bench.place
    editor = await Neovim.start(place)
    buffer = await editor.lua(_SETUP, str(PLUGIN), place.smith("serve"))
    return await _warmed(bench, editor, buffer, "ihello<Esc>")


async def _floor(bench: Bench) -> Neovim:
    body = bench.place.file("body.json")
    body.write_bytes(bench.model.seen[0].body)
    editor = await Neovim.start(bench.place)
    code = (FLOORS / "editor.lua").read_text()
    buffer = await editor.lua(code, bench.place.floor("relay", bench.model.url, str(body)))
    return await _warmed(bench, editor, buffer, "")


async def _warmed(bench: Bench, editor: Neovim, buffer: int, typed: str) -> Neovim:
    await editor.watch(buffer)
    for number in range(2):
        words = f"Warm {number}."
        await _turn(bench, editor, typed, says(words), words)
    return editor


async def _turn(bench: Bench, editor: Neovim, typed: str, reply: Reply, last: str) -> tuple[int, int]:
    """When the key was pressed, and when the last words of the reply were in the buffer."""
    editor.key(typed)
    await editor.expect(last)
    await asyncio.sleep(REST)
    bench.model.play([reply])
    pressed = editor.key("<CR>")
    complete = await editor.sees()
    await asyncio.sleep(_REST)
    return pressed, complete
