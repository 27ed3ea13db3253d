-- Something for the person that is no part of the conversation.

local M = {}

local SIGN = { info = 'i', quiet = '·', warning = '!', error = '✗' }
local GROUP = { info = 'SmithInfo', quiet = 'SmithDetail', warning = 'SmithWarning', error = 'SmithFailed' }

-- In fewer columns rows are broken here: Neovim itself would also break at the slash of a path or a command.
-- With more it does so rarely, and its rows follow the width of the window. What stands in columns stays as it is.
local NARROW = 36

---@param line string
---@param width integer
---@return string[] the same words in rows that are no wider, but for a word that is
local function filled(line, width)
  local fits = width >= NARROW or vim.fn.strdisplaywidth(line) <= width
  if fits or line:find('  ', 1, true) or line:find('\t', 1, true) then
    return { line }
  end
  local rows = {}
  for word in line:gmatch('%S+') do
    local longer = rows[#rows] and rows[#rows] .. ' ' .. word
    if longer and vim.fn.strdisplaywidth(longer) <= width then
      rows[#rows] = longer
    else
      rows[#rows + 1] = word
    end
  end
  return rows
end

---@param block smith.Block
---@param width integer
---@return string[] lines, smith.Mark[] marks
function M.render(block, width)
  local lines, marks = {}, {}
  for _, line in ipairs(vim.split(block.text, '\n', { plain = true })) do
    for _, row in ipairs(filled(line, width - 2)) do
      lines[#lines + 1] = (#lines == 0 and (SIGN[block.level] or SIGN.info) .. ' ' or '  ') .. row
      marks[#lines] = { line = #lines - 1, from = 0, to = -1, group = GROUP[block.level] or GROUP.info }
    end
  end
  return lines, marks
end

return M
