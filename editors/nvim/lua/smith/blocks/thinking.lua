-- What the model thought: one line, with the words folded under it.

local Lines = require('smith.state.lines')
local label = require('smith.blocks.label')

local M = {}

---@param block smith.Block
---@param count integer
---@return string
local function head(block, count)
  if not block.done then
    return '· thinking …'
  end
  return ('· thought, %d %s'):format(count, count == 1 and 'line' or 'lines')
end

--- Renders from line `from` on (1 is the head).
---@param block smith.Block
---@param _width integer
---@param from integer?
---@return string[] lines, smith.Mark[] marks
function M.render(block, _width, from)
  local lines, marks = {}, {}
  local first, last = Lines.span(block.body)
  local count = last - first + 1
  for i = from or 1, count + 1 do
    lines[#lines + 1] = i == 1 and head(block, count) or label.indent(block.body.lines[first + i - 2])
    marks[#marks + 1] = { line = #lines - 1, from = 0, to = -1, group = 'SmithThinking' }
  end
  return lines, marks
end

return M
