-- The text of a buffer as the server has it, its hash, and places in it.
-- A document's text has the buffer's own line ends, no byte-order mark, and a final line end only with 'endofline'.

local api = vim.api
local M = {}

local LINE_END = { unix = '\n', dos = '\r\n', mac = '\r' }
local NEW_API = vim.fn.has('nvim-0.11') == 1

---@class smith.Document
---@field lines string[]
---@field nl string line end
---@field eol boolean whether the last line ends too
---@field text string the whole; '' where only one line end would be there

---@class smith.Place a byte position
---@field row integer from 0; one past the last line when that line ends
---@field col integer

---@param buf integer
---@return smith.Document
function M.read(buf)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local nl = LINE_END[vim.bo[buf].fileformat] or '\n'
  local eol = vim.bo[buf].endofline
  local text = table.concat(lines, nl) .. (eol and nl or '')
  if text == '\n' or text == '\r\n' or text == '\r' then
    text = ''
  end
  return { lines = lines, nl = nl, eol = eol, text = text }
end

---@param text string
---@return string 16 hex digits
function M.hash(text)
  return vim.fn.sha256(text):sub(1, 16)
end

---@param doc smith.Document
---@return boolean
function M.holds_nul(doc)
  return doc.text:find('\0', 1, true) ~= nil
end

---@param doc smith.Document
---@return boolean whether all its line ends are CR, on whose lines editors do not agree
function M.only_cr(doc)
  return doc.text:find('\r', 1, true) ~= nil and not doc.text:find('\n', 1, true)
end

-- Bounds of the second byte after these first ones: no overlong forms, no surrogates, nothing above U+10FFFF.
local SECOND = { [0xe0] = { 0xa0, 0xbf }, [0xed] = { 0x80, 0x9f }, [0xf0] = { 0x90, 0xbf }, [0xf4] = { 0x80, 0x8f } }
local ANY = { 0x80, 0xbf }

---@param run string
---@param at integer
---@return integer? length of the character that starts there
local function character(run, at)
  local first = run:byte(at)
  if first < 0xc2 or first > 0xf4 then
    return nil
  end
  local length = first >= 0xf0 and 4 or first >= 0xe0 and 3 or 2
  local bounds = SECOND[first] or ANY
  for i = at + 1, at + length - 1 do
    local byte = run:byte(i)
    if not byte or byte < bounds[1] or byte > bounds[2] then
      return nil
    end
    bounds = ANY
  end
  return length
end

---@param text string
---@return boolean whether it is UTF-8 that a JSON reader takes
function M.is_unicode(text)
  for run in text:gmatch('[\128-\255]+') do
    local at = 1
    while at <= #run do
      local length = character(run, at)
      if not length then
        return false
      end
      at = at + length
    end
  end
  return true
end

--- Column in bytes of `character` in `line`; nil where the line has no such place.
---@param line string
---@param character_index integer
---@param encoding string
---@return integer?
function M.byte_column(line, character_index, encoding)
  if encoding == 'utf-8' then
    local byte = line:byte(character_index + 1)
    local inside = byte and byte >= 0x80 and byte < 0xc0
    return not inside and character_index <= #line and character_index or nil
  end
  local ok, col
  if NEW_API then
    ok, col = pcall(vim.str_byteindex, line, encoding, character_index, true)
  else
    ok, col = pcall(vim.str_byteindex, line, character_index, encoding == 'utf-16')
  end
  return ok and col or nil
end

--- The other way round; `col` is cut to the line.
---@param line string
---@param col integer
---@param encoding string
---@return integer
function M.character_column(line, col, encoding)
  col = math.min(col, #line)
  if encoding == 'utf-8' then
    return col
  end
  if NEW_API then
    return vim.str_utfindex(line, encoding, col, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, col)
  return encoding == 'utf-16' and utf16 or utf32
end

--- The place of a position of the wire; nil when the document has none such.
---@param doc smith.Document
---@param position {line: integer, character: integer}
---@param encoding string
---@return smith.Place?
function M.place(doc, position, encoding)
  local line = doc.lines[position.line + 1]
  if not line then
    local past_last = doc.eol and position.line == #doc.lines and position.character == 0
    return past_last and { row = position.line, col = 0 } or nil
  end
  local col = M.byte_column(line, position.character, encoding)
  return col and { row = position.line, col = col } or nil
end

--- The text between two places.
---@param doc smith.Document
---@param from smith.Place
---@param to smith.Place
---@return string
function M.slice(doc, from, to)
  local last = doc.lines[to.row + 1] or ''
  if from.row == to.row then
    return last:sub(from.col + 1, to.col)
  end
  local parts = { doc.lines[from.row + 1]:sub(from.col + 1) }
  vim.list_extend(parts, doc.lines, from.row + 2, to.row)
  parts[#parts + 1] = last:sub(1, to.col)
  return table.concat(parts, doc.nl)
end

return M
