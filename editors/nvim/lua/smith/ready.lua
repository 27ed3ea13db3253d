-- Whether a buffer may be changed in this very tick.
-- While a command is half typed Neovim remembers plain line numbers: a change then makes the next key hit other lines.

local M = {}

local MODES = { n = true, nt = true, t = true, i = true, R = true }
local VISUAL = '^[vV\22sS\19]'
-- Mapping, operator, completion, waiting, autocommand, no safe state, scrolled screen.
local BUSY = '[moawxSs]'

---@param rows integer[][] first and last row of each change, from 0
---@param row integer
---@return boolean
local function touches(rows, row)
  for _, span in ipairs(rows) do
    if span[1] <= row and row <= span[2] then
      return true
    end
  end
  return false
end

---@param mode string
---@return string state without what is always there in `mode`
local function busy_state(mode)
  local state = vim.fn.state()
  return mode == 't' and (state:gsub('S', '')) or state
end

--- Asks in the tick in which the change is made; nothing between may run other code.
---@param buf integer
---@param rows integer[][] first and last row that each change touches, from 0
---@return boolean ready
---@return string? reason why not, in a few words
function M.check(buf, rows)
  local now = vim.api.nvim_get_mode()
  local mode = now.mode
  local elsewhere = buf ~= vim.api.nvim_get_current_buf()
  if now.blocking then
    return false, 'the editor waits for a key'
  end
  if not MODES[mode] and not (elsewhere and mode:find(VISUAL)) then
    return false, ('the editor is in mode %s'):format(mode)
  end
  if vim.fn.getcmdwintype() ~= '' then
    return false, 'the command-line window is open'
  end
  if busy_state(mode):find(BUSY) then
    return false, 'the editor is in the middle of a command'
  end
  if (mode == 'i' or mode == 'R') and not elsewhere then
    if touches(rows, vim.api.nvim_win_get_cursor(0)[1] - 1) then
      return false, 'text is being typed in that line'
    end
  end
  return true
end

return M
