-- Something for the person that is no part of the conversation.

local M = {}

local SIGN = { info = 'i', quiet = '·', warning = '!', error = '✗' }
local GROUP = { info = 'SmithInfo', quiet = 'SmithDetail', warning = 'SmithWarning', error = 'SmithFailed' }

---@param block smith.Block
---@param _width integer
---@return string[] lines, smith.Mark[] marks
function M.render(block, _width)
  local lines, marks = {}, {}
  for i, line in ipairs(vim.split(block.text, '\n', { plain = true })) do
    lines[i] = (i == 1 and (SIGN[block.level] or SIGN.info) .. ' ' or '  ') .. line
    marks[i] = { line = i - 1, from = 0, to = -1, group = GROUP[block.level] or GROUP.info }
  end
  return lines, marks
end

return M
