-- Lines and colours put into a chat buffer with as little change as can be.

local api = vim.api
local label = require('smith.blocks.label')

local M = {}

local COLOURS = api.nvim_create_namespace('smith.colours')

-- What the agent says is not to be undone, and the person's own undo must not reach it.
---@param buf integer
---@param levels integer
function M.set_undolevels(buf, levels)
  local set = "noautocmd call nvim_set_option_value('undolevels', %d, {'buf': %d})"
  vim.cmd(set:format(levels, buf))
end

---@param mark smith.Mark
---@return table[]
local function lines_below(mark)
  return vim.tbl_map(function(line)
    return { { label.INDENT .. line, mark.group } }
  end, mark.below)
end

---@param buf integer
---@param row integer
---@param marks smith.Mark[]
---@param count integer lines that the marks belong to
function M.colour(buf, row, marks, count)
  api.nvim_buf_clear_namespace(buf, COLOURS, row, row + count)
  for _, mark in ipairs(marks) do
    local at = row + mark.line
    local options = { hl_group = mark.group, end_row = at, end_col = mark.to, hl_eol = mark.whole }
    if mark.to < 0 then
      options.end_row, options.end_col = at + 1, 0
    end
    if mark.below then
      options = { virt_lines = lines_below(mark) }
    end
    options.strict = false
    api.nvim_buf_set_extmark(buf, COLOURS, at, mark.from, options)
  end
end

-- Only the lines that differ are set, so that cursor and folds stay with the others.
---@param buf integer
---@param row integer
---@param count integer lines there now
---@param lines string[]
function M.replace(buf, row, count, lines)
  -- What belongs to a line that goes would move to the next one.
  api.nvim_buf_clear_namespace(buf, COLOURS, row, row + count)
  local old = api.nvim_buf_get_lines(buf, row, row + count, true)
  local head, tail = 0, 0
  while head < math.min(#old, #lines) and old[head + 1] == lines[head + 1] do
    head = head + 1
  end
  while tail < math.min(#old, #lines) - head and old[#old - tail] == lines[#lines - tail] do
    tail = tail + 1
  end
  local middle = vim.list_slice(lines, head + 1, #lines - tail)
  if #middle > 0 or head + tail < #old then
    api.nvim_buf_set_lines(buf, row + head, row + count - tail, true, middle)
  end
end

-- A line that only grew gets what is new, and the lines after it are added.
---@param buf integer
---@param row integer
---@param lines string[]
function M.extend(buf, row, lines)
  local old = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  if not vim.startswith(lines[1], old) then
    return api.nvim_buf_set_lines(buf, row, row + 1, true, lines)
  end
  local new = vim.list_extend({ lines[1]:sub(#old + 1) }, lines, 2)
  api.nvim_buf_set_text(buf, row, #old, row, #old, new)
end

--- Takes all colours away.
---@param buf integer
function M.clear(buf)
  api.nvim_buf_clear_namespace(buf, COLOURS, 0, -1)
end

return M
