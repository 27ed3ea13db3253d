-- Short names for things in one line. Pure.

local M = { INDENT = '    ' }

-- The argument that says most, first found.
local TELLING = { 'command', 'path', 'pattern', 'query', 'url', 'task', 'name' }

---@param text string?
---@return string
function M.first_line(text)
  return vim.trim((text or ''):match('^%s*([^\n]*)'))
end

--- `line` as part of a block that has a head; an empty line stays empty.
---@param line string
---@return string
function M.indent(line)
  return line == '' and '' or M.INDENT .. line
end

--- `text` cut to `width` cells.
---@param text string
---@param width integer
---@return string
function M.cut(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(width - 1, 1)) .. '…'
end

--- `text` in lines of at most `width` cells, broken between words where that goes.
---@param text string
---@param width integer
---@return string[]
function M.wrap(text, width)
  local lines = {}
  for word in text:gmatch('%S+') do
    local last = lines[#lines]
    if last and vim.fn.strdisplaywidth(last .. ' ' .. word) <= width then
      lines[#lines] = last .. ' ' .. word
    else
      lines[#lines + 1] = word
    end
  end
  return lines
end

---@param arguments string JSON as the model wrote it
---@return string
local function telling_argument(arguments)
  local ok, values = pcall(vim.json.decode, arguments)
  if not ok or type(values) ~= 'table' then
    return ''
  end
  for _, name in ipairs(TELLING) do
    if type(values[name]) == 'string' then
      return M.first_line(values[name])
    end
  end
  return ''
end

---@param name string
---@param title string
---@param arguments string
---@return string
function M.of_call(name, title, arguments)
  local what = title ~= '' and M.first_line(title) or telling_argument(arguments)
  return what == '' and name or ('%s %s'):format(name, what)
end

return M
