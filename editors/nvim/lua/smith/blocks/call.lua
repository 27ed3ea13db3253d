-- A tool call: one line with what became of it; its diff or output is folded under that line.
-- While it runs the last lines of its output are shown.

local diff = require('smith.blocks.diff')
local label = require('smith.blocks.label')

local M = {}

local LIMIT = 400
local LIVE = 5
local SIGN = { running = '…', ok = '✓', failed = '✗', lost = '–' }
local GROUP = { running = 'SmithRunning', ok = 'SmithOk', failed = 'SmithFailed', lost = 'SmithDetail' }
local SLOW_MS = 1000
-- So many cells of the call stay in sight beside its outcome.
local SHORTEST = 20

---@param block smith.Block
---@return string
local function outcome(block)
  if block.status == 'running' then
    return ''
  elseif block.status == 'lost' then
    return ' — no result'
  end
  local summary = label.first_line(block.summary)
  local duration = (block.duration_ms or 0) >= SLOW_MS and (' (%.1f s)'):format(block.duration_ms / 1000) or ''
  return (summary ~= '' and ' — ' .. summary or '') .. duration
end

---@param block smith.Block
---@param width integer
---@return string[] one line, more where the outcome has no room beside the call
local function head(block, width)
  local tail = outcome(block)
  local sign = SIGN[block.status]
  local what = label.of_call(block.name, block.title, block.arguments)
  local room = width - vim.fn.strdisplaywidth(tail) - 2
  if room >= math.min(vim.fn.strdisplaywidth(what), SHORTEST) then
    return { ('%s %s%s'):format(sign, label.cut(what, room), tail) }
  end
  local lines = { ('%s %s'):format(sign, label.cut(what, width - 2)) }
  for _, line in ipairs(label.wrap(vim.trim(tail), width - 2)) do
    lines[#lines + 1] = '  ' .. line
  end
  return lines
end

---@param lines string[]
---@param marks smith.Mark[]
---@param text string
---@param limit integer last lines that are shown
local function add_output(lines, marks, text, limit)
  local all = vim.split(text, '\n', { plain = true, trimempty = true })
  local first = math.max(#all - limit + 1, 1)
  if first > 1 then
    lines[#lines + 1] = label.indent(('… %d lines before'):format(first - 1))
  end
  for i = first, #all do
    lines[#lines + 1] = label.indent(all[i])
    marks[#marks + 1] = { line = #lines - 1, from = 0, to = -1, group = 'SmithOutput' }
  end
end

---@param block smith.Block
---@param width integer
---@return string[] lines, smith.Mark[] marks, integer head lines that are never folded away
function M.render(block, width)
  local lines, marks = head(block, width), {}
  local count = #lines
  local sign = #SIGN[block.status]
  marks[1] = { line = 0, from = 0, to = sign, group = GROUP[block.status] }
  marks[2] = { line = 0, from = sign + 1, to = sign + 1 + #block.name, group = 'SmithTool' }
  if block.status == 'running' then
    add_output(lines, marks, block.output, LIVE)
  elseif (block.diff or '') ~= '' then
    diff.add(lines, marks, block.diff, LIMIT)
  else
    add_output(lines, marks, block.status == 'lost' and block.output or block.below .. block.content, LIMIT)
  end
  return lines, marks, count
end

return M
