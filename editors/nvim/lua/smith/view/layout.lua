-- Where a chat is shown, and how its windows look. Nothing here changes a buffer.

local api = vim.api
local config = require('smith.config')

local M = {}

local SPLIT = { right = 'right', left = 'left', bottom = 'below', top = 'above' }
local LOOK = {
  foldmethod = 'manual',
  foldenable = true,
  foldtext = '',
  fillchars = 'fold: ,eob: ',
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  list = false,
  spell = false,
}

--- A window of this tab page that shows `buf`.
---@param buf integer
---@return integer?
function M.window(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

--- Gives a window that shows a chat its look; another buffer shown there later has its own.
---@param win integer
function M.dress(win)
  for name, value in pairs(LOOK) do
    vim.wo[win][0][name] = value
  end
end

---@param total integer
---@return integer
local function measure(total)
  local size = config.values.size
  return math.max(math.floor(size < 1 and total * size or size), 10)
end

---@param buf integer
---@param focus boolean
---@return integer win
local function split(buf, focus)
  local where = SPLIT[config.values.position]
  local options = { split = where or 'right', win = -1 }
  if where == 'below' or where == 'above' then
    options.height = measure(vim.o.lines)
  else
    options.width = measure(vim.o.columns)
  end
  return api.nvim_open_win(buf, focus, options)
end

--- Shows `buf`, in the window that has it if there is one.
---@param buf integer
---@param focus boolean
---@return integer win
function M.open(buf, focus)
  local win = M.window(buf)
  if not win and config.values.position == 'current' and focus then
    win = api.nvim_get_current_win()
    api.nvim_win_set_buf(win, buf)
  end
  win = win or split(buf, focus)
  if focus then
    api.nvim_set_current_win(win)
  end
  return win
end

-- A line more is counted where virtual lines stand above the first.
---@param win integer
---@return integer the first line from which all lines to the last fit into the window, from 1
local function first_of_last_screen(win)
  local room = api.nvim_win_get_height(win) - 1
  local low, high = 1, api.nvim_buf_line_count(api.nvim_win_get_buf(win))
  while low < high do
    local middle = math.floor((low + high) / 2)
    if api.nvim_win_text_height(win, { start_row = middle - 1 }).all <= room then
      high = middle
    else
      low = middle + 1
    end
  end
  return high
end

--- Scrolls a window so that its last line is at the bottom, or everything is in sight.
---@param win integer
function M.show_end(win)
  local first = first_of_last_screen(win)
  api.nvim_win_call(win, function()
    vim.fn.winrestview({ topline = first, topfill = 0, skipcol = 0, leftcol = 0 })
  end)
end

--- Scrolls a window back whose last rows are empty while text has gone out of it above.
---@param win integer
function M.fill(win)
  local top = vim.fn.line('w0', win)
  local room = api.nvim_win_get_height(win) - 1
  if top > 1 and api.nvim_win_text_height(win, { start_row = top - 1 }).all < room then
    M.show_end(win)
  end
end

--- Closes the windows of this tab page that show `buf`; the last window of all stays.
---@param buf integer
function M.close(buf)
  local win = M.window(buf)
  while win and #api.nvim_tabpage_list_wins(0) > 1 do
    api.nvim_win_close(win, false)
    win = M.window(buf)
  end
end

return M
