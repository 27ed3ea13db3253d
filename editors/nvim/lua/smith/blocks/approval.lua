-- A question of the agent: what it wants to do and what would change. Answered, it is one line.

local diff = require('smith.blocks.diff')
local label = require('smith.blocks.label')

local M = {}

local LIMIT = 400
-- Where else it can be answered: as in `keymaps`.
local ELSEWHERE = { 'at an empty prompt: <Esc> y', 'anywhere: :Smith yes' }
local ANSWERED = {
  yes = 'allowed',
  no = 'refused',
  always = 'always allowed',
  quit = 'refused, turn stopped',
  withdrawn = 'not answered',
}

---@param block smith.Block
---@return string
local function head(block)
  local what = label.of_call(block.name, block.title, '')
  local who = block.role and block.role .. ' wants to run' or 'May I run'
  return ('? %s %s%s'):format(who, what, block.role and '' or '?')
end

---@param lines string[]
---@param marks smith.Mark[]
---@param text string
local function add_detail(lines, marks, text)
  if text ~= '' then
    lines[#lines + 1] = label.indent(label.first_line(text))
    marks[#marks + 1] = { line = #lines - 1, from = 0, to = -1, group = 'SmithDetail' }
  end
end

---@param block smith.Block
---@param width integer
---@return string[] lines, smith.Mark[] marks
local function render_answered(block, width)
  local what = label.of_call(block.name, block.title, '')
  local line = ('  %s: %s'):format(ANSWERED[block.decision] or block.decision, what)
  return { label.cut(line, width) }, { { line = 0, from = 0, to = -1, group = 'SmithDetail' } }
end

---@param block smith.Block
---@param width integer
---@return string[] lines, smith.Mark[] marks
function M.render(block, width)
  if block.decision then
    return render_answered(block, width)
  end
  local lines, marks = { head(block) }, { { line = 0, from = 0, to = -1, group = 'SmithQuestion' } }
  add_detail(lines, marks, block.reason)
  if #block.saves > 0 then
    add_detail(lines, marks, 'saves first: ' .. table.concat(block.saves, ', '))
  end
  diff.add(lines, marks, block.diff, LIMIT)
  lines[#lines + 1] = label.INDENT .. 'y yes · n no · a always'
  marks[#marks + 1] = { line = #lines - 1, from = 0, to = -1, group = 'SmithHint' }
  marks[#marks + 1] = { line = #lines - 1, from = 0, to = 0, group = 'SmithDetail', below = ELSEWHERE }
  return lines, marks
end

return M
