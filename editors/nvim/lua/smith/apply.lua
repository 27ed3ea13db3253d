-- Puts a planned change into a buffer as one undo step of its own. Asks nothing and decides nothing.

local api = vim.api
local M = {}

local TEXTLOCKED = 'E565'

--- Ends the undo step that is open: setting 'undolevels' to its own value does that, in insert mode too.
---@param buf integer
local function break_undo(buf)
  local levels = api.nvim_get_option_value('undolevels', { buf = buf })
  -- Without autocommands, or OptionSet would tell of a change that is none.
  local set = "noautocmd call nvim_set_option_value('undolevels', %d, {'buf': %d})"
  vim.cmd(set:format(levels, buf))
end

---@param buf integer
---@return table<string, integer[]> place of each lowercase mark that is set
local function marks_of(buf)
  local marks = {}
  for code = string.byte('a'), string.byte('z') do
    local name = string.char(code)
    local place = api.nvim_buf_get_mark(buf, name)
    if place[1] > 0 then
      marks[name] = place
    end
  end
  return marks
end

---@param hunks smith.Hunk[] in order
---@param row integer row before the change, from 0
---@return integer row after it
local function moved_row(hunks, row)
  local shift = 0
  for _, hunk in ipairs(hunks) do
    if row < hunk.from.row then
      break
    elseif row <= hunk.to.row then
      return shift + hunk.from.row + math.min(row - hunk.from.row, #hunk.lines - 1)
    end
    shift = shift + #hunk.lines - 1 - (hunk.to.row - hunk.from.row)
  end
  return row + shift
end

-- A replaced line takes its mark with it.
---@param buf integer
---@param marks table<string, integer[]>
---@param hunks smith.Hunk[]
local function put_back_marks(buf, marks, hunks)
  local last = api.nvim_buf_line_count(buf)
  for name, place in pairs(marks) do
    if api.nvim_buf_get_mark(buf, name)[1] == 0 then
      local row = math.min(moved_row(hunks, place[1] - 1) + 1, last)
      local line = api.nvim_buf_get_lines(buf, row - 1, row, true)[1]
      api.nvim_buf_set_mark(buf, name, row, math.min(place[2], #line), {})
    end
  end
end

---@param buf integer
local function take_back(buf)
  api.nvim_buf_call(buf, function()
    vim.cmd('silent! undo')
  end)
end

---@param buf integer
---@param hunk smith.Hunk
---@return boolean ok
---@return string? problem
local function set_text(buf, hunk)
  local from, to = hunk.from, hunk.to
  return pcall(api.nvim_buf_set_text, buf, from.row, from.col, to.row, to.col, hunk.lines)
end

---@class smith.Applied
---@field done boolean
---@field locked boolean? nothing was done because text may not change in this tick
---@field message string?

--- Applies all hunks or none. `placed(i, hunk)` is called right after each, while its text is where it says.
---@param buf integer
---@param hunks smith.Hunk[] in order
---@param placed fun(i: integer, hunk: smith.Hunk)
---@return smith.Applied
function M.run(buf, hunks, placed)
  local marks = marks_of(buf)
  break_undo(buf)
  for i = #hunks, 1, -1 do
    local ok, problem = set_text(buf, hunks[i])
    if not ok then
      if i < #hunks then
        take_back(buf)
      end
      return { done = false, locked = i == #hunks and tostring(problem):find(TEXTLOCKED) ~= nil, message = problem }
    end
    placed(i, hunks[i])
  end
  break_undo(buf)
  put_back_marks(buf, marks, hunks)
  return { done = true }
end

---@param buf integer
---@return boolean whether a change of the buffer can be undone
function M.can_undo(buf)
  local levels = vim.bo[buf].undolevels
  return (levels == -123456 and vim.go.undolevels or levels) >= 0
end

return M
