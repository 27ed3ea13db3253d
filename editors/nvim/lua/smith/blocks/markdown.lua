-- Highlights of one line of markdown. Pure; a line and whether it is code is all that it looks at,
-- so that a growing answer costs only the lines that are new.

local M = {}

---@class smith.Mark
---@field line integer from 0, within the lines that were rendered
---@field from integer byte column
---@field to integer byte column, -1 for the end of the line
---@field group string
---@field below string[]? lines shown under it, no part of the text
---@field whole boolean? the line to the edge of the window too

-- In this order: what is inside code is left alone by the rest.
local INLINE = {
  { pattern = '()`[^`]+`()', group = 'SmithCode' },
  { pattern = '()%*%*[^*]+%*%*()', group = 'SmithStrong' },
  { pattern = '()%[[^%]]+%]%([^)]+%)()', group = 'SmithLink' },
  { pattern = '()https?://[^%s)>]+()', group = 'SmithLink' },
}

local WHOLE = {
  { pattern = '^#+%s', group = 'SmithHeading' },
  { pattern = '^>%s?', group = 'SmithQuote' },
}

---@param taken boolean[]
---@param from integer
---@param to integer
---@return boolean
local function is_free(taken, from, to)
  for column = from, to do
    if taken[column] then
      return false
    end
  end
  return true
end

---@param marks smith.Mark[]
---@param line string
---@param row integer
local function add_inline(marks, line, row)
  local taken = {}
  for _, rule in ipairs(INLINE) do
    for from, past in line:gmatch(rule.pattern) do
      if is_free(taken, from, past - 1) then
        for column = from, past - 1 do
          taken[column] = true
        end
        marks[#marks + 1] = { line = row, from = from - 1, to = past - 1, group = rule.group }
      end
    end
  end
end

--- Adds the highlights of `line` to `marks`.
---@param marks smith.Mark[]
---@param line string
---@param row integer row of the line within what is rendered
---@param code boolean
function M.add(marks, line, row, code)
  if code then
    marks[#marks + 1] = { line = row, from = 0, to = -1, group = 'SmithCodeBlock', whole = true }
    return
  end
  for _, rule in ipairs(WHOLE) do
    if line:find(rule.pattern) then
      marks[#marks + 1] = { line = row, from = 0, to = -1, group = rule.group }
      return
    end
  end
  local indent, bullet = line:match('^(%s*)([-*+])%s')
  if not bullet then
    indent, bullet = line:match('^(%s*)(%d+[.)])%s')
  end
  if bullet then
    marks[#marks + 1] = { line = row, from = #indent, to = #indent + #bullet, group = 'SmithList' }
  end
  add_inline(marks, line, row)
end

return M
