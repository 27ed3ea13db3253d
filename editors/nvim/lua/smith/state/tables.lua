-- Tables of markdown with their columns under each other, as text. Code stays, and what is indented.

local M = {}

-- A wider table would break in most windows anyway, the worse the more blanks are in it.
local MOST = 80

---@param text string
---@return integer
local function width_of(text)
  return vim.fn.strdisplaywidth(text)
end

---@param line string
---@return string[]
local function cells_of(line)
  local inner = vim.trim(line):gsub('^|', '')
  if inner:sub(-1) == '|' and inner:sub(-2) ~= '\\|' then
    inner = inner:sub(1, -2)
  end
  local cells, from = {}, 1
  for at in inner:gmatch('()|') do
    if inner:sub(at - 1, at - 1) ~= '\\' then
      cells[#cells + 1] = vim.trim(inner:sub(from, at - 1))
      from = at + 1
    end
  end
  cells[#cells + 1] = vim.trim(inner:sub(from))
  return cells
end

---@param line string
---@return boolean
local function is_divider(line)
  for _, cell in ipairs(cells_of(line)) do
    if not cell:find('^:?%-+:?$') then
      return false
    end
  end
  return true
end

---@param rows string[][]
---@return integer[]
local function widths_of(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for at, cell in ipairs(row) do
      widths[at] = math.max(widths[at] or 3, width_of(cell))
    end
  end
  return widths
end

-- Whether the columns fit; the last one goes without blanks where it does not.
---@param widths integer[]
---@return boolean
local function fit(widths)
  local all = 0
  for _, width in ipairs(widths) do
    all = all + width + 3
  end
  if all - widths[#widths] > MOST then
    return false
  end
  if all + 1 > MOST then
    widths[#widths] = 3
  end
  return true
end

---@param cell string
---@param width integer
---@param is_right boolean
---@return string
local function padded(cell, width, is_right)
  local blanks = (' '):rep(width - width_of(cell))
  return is_right and blanks .. cell or cell .. blanks
end

---@param cell string
---@param width integer
---@return string
local function rule(cell, width)
  local first, last = cell:match('^:') or '', cell:match(':$') or ''
  return first .. ('-'):rep(width - #first - #last) .. last
end

---@param row string[]
---@param draw fun(cell: string, at: integer): string
---@return string
local function row_of(row, draw)
  local cells = {}
  for at, cell in ipairs(row) do
    cells[at] = draw(cell, at)
  end
  return '| ' .. table.concat(cells, ' | ') .. ' |'
end

---@param lines string[]
---@return string[]
local function drawn(lines)
  local rows = vim.tbl_map(cells_of, lines)
  local divider = table.remove(rows, 2)
  local widths = widths_of(rows)
  if not fit(widths) then
    return lines
  end
  local made = vim.tbl_map(function(row)
    return row_of(row, function(cell, at)
      return padded(cell, widths[at], (divider[at] or ''):find('^[^:].*:$') ~= nil)
    end)
  end, rows)
  local under = row_of(vim.list_slice(divider, 1, #widths), function(cell, at)
    return rule(cell, widths[at])
  end)
  table.insert(made, 2, under)
  return made
end

--- The text of `body` with its tables aligned, nil where there is nothing to do. The number of lines stays.
---@param body smith.Lines
---@return string?
function M.aligned(body)
  local lines, at, changed = vim.list_extend({}, body.lines), 1, false
  while at <= #lines do
    local stop = at
    while lines[stop] and lines[stop]:find('^|') and not body.code[stop] do
      stop = stop + 1
    end
    if stop - at > 1 and is_divider(lines[at + 1]) then
      for offset, line in ipairs(drawn(vim.list_slice(lines, at, stop - 1))) do
        changed = changed or lines[at + offset - 1] ~= line
        lines[at + offset - 1] = line
      end
    end
    at = math.max(stop, at + 1)
  end
  return changed and table.concat(lines, '\n') or nil
end

return M
