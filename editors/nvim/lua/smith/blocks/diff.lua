-- A unified diff, indented, as part of another block.

local label = require('smith.blocks.label')

local M = {}

local GROUPS = { ['+'] = 'SmithAdded', ['-'] = 'SmithRemoved', ['@'] = 'SmithHunk' }

--- Adds the lines of `diff` to `lines` and their highlights to `marks`, at most `limit` of them.
---@param lines string[]
---@param marks smith.Mark[]
---@param diff string
---@param limit integer
function M.add(lines, marks, diff, limit)
  local all = vim.split(diff, '\n', { plain = true, trimempty = true })
  for i = 1, math.min(#all, limit) do
    local line = all[i]
    local header = line:find('^%-%-%- ') or line:find('^%+%+%+ ')
    local group = header and 'SmithDetail' or GROUPS[line:sub(1, 1)]
    lines[#lines + 1] = label.indent(line)
    if group then
      marks[#marks + 1] = { line = #lines - 1, from = #label.INDENT, to = -1, group = group }
    end
  end
  if #all > limit then
    lines[#lines + 1] = label.indent(('… %d more lines'):format(#all - limit))
    marks[#marks + 1] = { line = #lines - 1, from = 0, to = -1, group = 'SmithDetail' }
  end
end

return M
