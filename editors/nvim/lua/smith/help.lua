-- The tags of our help page, which a plug-in manager makes and a plain 'runtimepath' does not.

local M = {}

--- Makes the tags unless they are there; a folder that cannot be written is left alone.
function M.prepare()
  local page = vim.api.nvim_get_runtime_file('doc/smith.txt', false)[1]
  local folder = page and vim.fs.dirname(page)
  if folder and not (vim.uv or vim.loop).fs_stat(folder .. '/tags') then
    pcall(vim.cmd.helptags, vim.fn.fnameescape(folder))
  end
end

--- Opens the page at `tag`, below everything else: the chat keeps its rows as far as there is room for both.
---@param tag string
function M.open(tag)
  M.prepare()
  vim.cmd.help({ tag, mods = { split = 'botright' } })
  vim.api.nvim_win_set_height(0, math.floor(vim.o.lines / 2))
end

return M
