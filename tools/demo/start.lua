-- Loaded by the Neovim of the demo: the plug-in of this checkout, and what the demo looks at.
local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local repo = vim.fs.dirname(vim.fs.dirname(here))

vim.opt.runtimepath:prepend(repo .. '/editors/nvim')
vim.cmd.runtime({ 'plugin/smith.lua', bang = true })
require('smith').setup({ cmd = { vim.env.SMITH_DEMO_PYTHON, '-m', 'smith_server', 'serve' } })

local M = {}
_G.demo = M

---@param path string
---@return string[] lines of the buffer that visits `path`
function M.lines(path)
  return vim.api.nvim_buf_get_lines(vim.fn.bufnr(path), 0, -1, false)
end

---@return string[] lines of the chat, folded ones too
function M.chat()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].filetype == 'smith-chat' then
      return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
    end
  end
  return {}
end

---@param path string
---@return boolean
function M.is_modified(path)
  return vim.bo[vim.fn.bufnr(path)].modified
end

---@return integer[] line and column of the cursor, first line of the window
function M.place()
  local cursor = vim.api.nvim_win_get_cursor(0)
  return { cursor[1], cursor[2], vim.fn.line('w0') }
end

---@return boolean whether a turn runs
function M.is_running()
  return vim.iter(require('smith.session').all()):any(function(session)
    return session:is_running()
  end)
end

local caption = { buf = nil, win = nil }

--- Shows `text` in a line over the bottom of the editor.
---@param text string
function M.caption(text)
  caption.buf = caption.buf or vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(caption.buf, 0, -1, false, { ' ' .. text })
  local layout = { relative = 'editor', row = vim.o.lines - 5, col = 2, height = 1, width = vim.o.columns - 6 }
  if caption.win and vim.api.nvim_win_is_valid(caption.win) then
    return vim.api.nvim_win_set_config(caption.win, layout)
  end
  local extra = { style = 'minimal', border = 'rounded', focusable = false, zindex = 90 }
  caption.win = vim.api.nvim_open_win(caption.buf, false, vim.tbl_extend('force', layout, extra))
end
