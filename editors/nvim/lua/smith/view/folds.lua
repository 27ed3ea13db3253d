-- Folds over the bodies of blocks. They are made by hand, one at a time: nothing is computed over the whole chat,
-- and they move with the text in insert mode too.

local api = vim.api
local config = require('smith.config')

local M = {}

---@param first integer row from 0
---@param last integer
local function make(first, last)
  vim.cmd(('silent! %d,%dfold'):format(first + 1, last + 1))
  if not config.values.fold_calls then
    vim.cmd(('silent! %dfoldopen'):format(first + 1))
  end
end

--- Folds rows `first` to `last` in every window on `buf`.
---@param buf integer
---@param first integer row from 0
---@param last integer
function M.set(buf, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      make(first, last)
    end)
  end
end

--- Makes the folds of a window that has none.
---@param win integer
---@param spans integer[][] first and last row
function M.add(win, spans)
  api.nvim_win_call(win, function()
    for _, span in ipairs(spans) do
      make(span[1], span[2])
    end
  end)
end

--- Takes the folds away that a window remembers from an earlier visit of the buffer.
---@param win integer
function M.clear(win)
  api.nvim_win_call(win, function()
    -- In insert mode `:normal` would move the cursor.
    local view = vim.fn.winsaveview()
    vim.cmd('silent! normal! zE')
    vim.fn.winrestview(view)
  end)
end

return M
