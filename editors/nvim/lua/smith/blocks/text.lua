-- An answer of the model: markdown, line by line.

local Lines = require('smith.state.lines')
local markdown = require('smith.blocks.markdown')

local M = {}

--- Renders from line `from` on (1 is the first); lines before it are the same as they were.
---@param block smith.Block
---@param _width integer
---@param from integer?
---@return string[] lines, smith.Mark[] marks
function M.render(block, _width, from)
  local body = block.body
  local lines, marks = {}, {}
  local first, last = Lines.span(body)
  for i = first + (from or 1) - 1, last do
    lines[#lines + 1] = body.lines[i]
    markdown.add(marks, body.lines[i], #lines - 1, body.code[i] == true)
  end
  return lines, marks
end

return M
