-- What the person said.

local M = {}

local SIGN = '❯ '

---@param block smith.Block
---@param _width integer
---@return string[] lines, smith.Mark[] marks
function M.render(block, _width)
  local lines, marks = {}, {}
  for i, line in ipairs(vim.split(block.text, '\n', { plain = true })) do
    lines[i] = (i == 1 and SIGN or '  ') .. line
    marks[i] = { line = i - 1, from = 0, to = -1, group = 'SmithPrompt' }
  end
  return lines, marks
end

return M
