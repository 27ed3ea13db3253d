-- A change of a document worked out before anything is touched: every range found, its old text compared.
-- The result is in the terms of `nvim_buf_set_text`, where the line end after the last line is no text.

local text = require('smith.text')

local M = {}

---@class smith.Hunk
---@field from smith.Place
---@field to smith.Place
---@field old string
---@field new string
---@field lines string[] `new`, split at the line ends of the document

---@class smith.Problem
---@field status 'stale'|'refused'
---@field message string

---@param status 'stale'|'refused'
---@param message string
---@return nil, smith.Problem
local function problem(status, message)
  return nil, { status = status, message = message }
end

---@param a smith.Place
---@param b smith.Place
---@return boolean
local function before(a, b)
  return a.row < b.row or (a.row == b.row and a.col < b.col)
end

---@param doc smith.Document
---@return boolean
local function is_empty(doc)
  return #doc.lines == 1 and doc.lines[1] == ''
end

---@param doc smith.Document
---@return smith.Place
local function last_place(doc)
  return { row = #doc.lines - 1, col = #doc.lines[#doc.lines] }
end

---@param doc smith.Document
---@param new string
---@return string? new without its last line end, nil if it has none
local function unended(doc, new)
  if vim.endswith(new, doc.nl) then
    return new:sub(1, -#doc.nl - 1)
  end
end

-- An empty document has no line end, though Neovim shows a line: new text goes in without its last one.
---@param doc smith.Document
---@param hunk smith.Hunk
local function settle_empty(doc, hunk)
  hunk.from, hunk.to, hunk.old = { row = 0, col = 0 }, { row = 0, col = 0 }, ''
  hunk.new = unended(doc, hunk.new) or hunk.new
  return hunk
end

-- A range that takes in the last line end moves back by one line end, so that the document keeps one.
---@param doc smith.Document
---@param hunk smith.Hunk
---@return smith.Hunk?
local function settle_end(doc, hunk)
  local new, last = unended(doc, hunk.new), last_place(doc)
  if hunk.from.row == hunk.to.row then
    hunk.from = last
    new = new and doc.nl .. new or hunk.new == '' and '' or nil
  elseif hunk.new == '' and hunk.from.col == 0 then
    local row = hunk.from.row - 1
    hunk.from = row < 0 and hunk.from or { row = row, col = #doc.lines[row + 1] }
    new = ''
  end
  hunk.to, hunk.new = last, new
  return new and hunk or nil
end

---@param doc smith.Document
---@param edit table
---@param encoding string
---@return smith.Hunk?
---@return smith.Problem?
local function locate(doc, edit, encoding)
  local from = text.place(doc, edit.range.start, encoding)
  local to = text.place(doc, edit.range['end'], encoding)
  if not from or not to or before(to, from) then
    return problem('stale', 'a range of the edit is not in the text')
  end
  if text.slice(doc, from, to) ~= edit.old then
    return problem('stale', 'the text at a range of the edit is not what it replaces')
  end
  return { from = from, to = to, old = edit.old, new = edit.newText }
end

---@param a smith.Hunk
---@param b smith.Hunk
---@return boolean whether `a` stands first; at one place an insertion does
local function in_order(a, b)
  if before(a.from, b.from) or before(b.from, a.from) then
    return before(a.from, b.from)
  end
  if before(a.to, b.to) or before(b.to, a.to) then
    return before(a.to, b.to)
  end
  return a.order < b.order
end

---@param hunks smith.Hunk[] sorted
---@return boolean
local function overlap(hunks)
  for i = 2, #hunks do
    if before(hunks[i].from, hunks[i - 1].to) then
      return true
    end
  end
  return false
end

-- What ends in the last line end may have to reach back: it and what it borders on become one.
---@param hunks smith.Hunk[] sorted
---@param end_row integer
local function join_last(hunks, end_row)
  while #hunks > 1 and hunks[#hunks].to.row == end_row do
    local last, previous = hunks[#hunks], hunks[#hunks - 1]
    if before(previous.to, last.from) then
      return
    end
    previous.to, previous.old, previous.new = last.to, previous.old .. last.old, previous.new .. last.new
    hunks[#hunks] = nil
  end
end

---@param buf integer
---@param new string
---@return boolean whether the file's own encoding can hold `new`
local function fits_encoding(buf, new)
  local encoding = vim.bo[buf].fileencoding
  if encoding == '' or encoding:find('^ut') or encoding:find('^ucs') or not new:find('[\128-\255]') then
    return true
  end
  local there = vim.iconv(new, 'utf-8', encoding)
  return there ~= nil and vim.iconv(there, encoding, 'utf-8') == new
end

---@param buf integer
---@param doc smith.Document
---@param hunk smith.Hunk
---@return string? reason why the new text cannot be put there
local function unfit(buf, doc, hunk)
  if hunk.new:find('\0', 1, true) then
    return 'the new text holds a NUL byte'
  end
  if not fits_encoding(buf, hunk.new) then
    return ('the encoding of the file (%s) cannot hold the new text'):format(vim.bo[buf].fileencoding)
  end
  hunk.lines = vim.split(hunk.new, doc.nl, { plain = true })
  for _, line in ipairs(hunk.lines) do
    if line:find('\n', 1, true) then
      return 'the new text holds a line end that is not CRLF, in a document whose lines end so'
    end
  end
end

---@param doc smith.Document
---@param hunk smith.Hunk
---@return smith.Hunk?
local function settle(doc, hunk)
  if is_empty(doc) then
    return settle_empty(doc, hunk)
  end
  if hunk.to.row < #doc.lines then
    return hunk
  end
  local settled = settle_end(doc, hunk)
  if settled then
    settled.old = text.slice(doc, settled.from, settled.to)
  end
  return settled
end

---@param buf integer
---@param doc smith.Document
---@param hunks smith.Hunk[] sorted
---@return smith.Hunk[]?
---@return smith.Problem?
local function settle_all(buf, doc, hunks)
  join_last(hunks, #doc.lines)
  for _, hunk in ipairs(hunks) do
    local reason = not settle(doc, hunk) and 'the edit would take away the final line end, which the editor decides'
      or unfit(buf, doc, hunk)
    if reason then
      return problem('refused', reason)
    end
  end
  return hunks
end

--- Works out `edits` for `doc`, the text of `buf`; touches nothing.
---@param buf integer
---@param doc smith.Document
---@param edits table[] {range, newText, old} of the wire
---@param encoding string of the positions
---@return smith.Hunk[]? in order, apart from each other
---@return smith.Problem?
function M.make(buf, doc, edits, encoding)
  local hunks = {}
  for i, edit in ipairs(edits) do
    local hunk, trouble = locate(doc, edit, encoding)
    if not hunk then
      return nil, trouble
    end
    hunk.order = i
    hunks[i] = hunk
  end
  table.sort(hunks, in_order)
  if overlap(hunks) then
    return problem('refused', 'ranges of the edit overlap')
  end
  return settle_all(buf, doc, hunks)
end

return M
