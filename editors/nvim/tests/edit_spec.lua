-- Whatever the text and the ranges, a buffer after an edit holds what the same edit makes of the text.

local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local minimal = dofile(here .. '/minimal.lua')
local apply = require('smith.apply')
local plan = require('smith.plan')
local text = require('smith.text')

local PIECES = { 'a', 'é', '😀', ' ', 'word', '\12', '\226\128\168' }
local ROUNDS = 3000

local function random_line()
  local parts = {}
  for i = 1, math.random(0, 4) do
    parts[i] = PIECES[math.random(#PIECES)]
  end
  return table.concat(parts)
end

local function random_buffer()
  local buf = vim.api.nvim_create_buf(false, true)
  local lines = {}
  for i = 1, math.random(1, 6) do
    lines[i] = random_line()
  end
  -- Two empty lines without a line end read as one line end, which counts as empty: no place for ranges.
  if #lines == 2 and lines[1] == '' then
    lines[1] = 'a'
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].fileformat = math.random(2) == 1 and 'unix' or 'dos'
  vim.bo[buf].endofline = math.random(3) > 1
  return buf
end

-- Byte offsets where a range may begin or end: nowhere inside a character or a line end.
local function borders(doc)
  local offsets, at = {}, 0
  for row, line in ipairs(doc.lines) do
    for col = 0, #line do
      if text.byte_column(line, col, 'utf-8') then
        offsets[#offsets + 1] = { at = at + col, line = row - 1, character = col }
      end
    end
    at = at + #line + #doc.nl
  end
  if doc.eol and doc.text ~= '' then
    offsets[#offsets + 1] = { at = at, line = #doc.lines, character = 0 }
  end
  return offsets
end

local function random_new(doc)
  local lines = {}
  for i = 1, math.random(0, 3) do
    lines[i] = random_line()
  end
  return table.concat(lines, doc.nl)
end

local function random_edits(doc)
  local places = borders(doc)
  local picks = {}
  for i = 1, 2 * math.random(1, 3) do
    picks[i] = math.random(#places)
  end
  table.sort(picks)
  local edits = {}
  for i = 1, #picks, 2 do
    local from, to = places[picks[i]], places[picks[i + 1]]
    edits[#edits + 1] = {
      range = { start = from, ['end'] = to },
      old = doc.text:sub(from.at + 1, to.at),
      newText = random_new(doc),
    }
  end
  return edits
end

local function edited(doc, edits)
  local parts, at = {}, 0
  for _, edit in ipairs(edits) do
    parts[#parts + 1] = doc.text:sub(at + 1, edit.range.start.at) .. edit.newText
    at = edit.range['end'].at
  end
  return table.concat(parts) .. doc.text:sub(at + 1)
end

local function changes_final_newline(doc, after)
  local ends = vim.endswith(after, doc.nl) or after == ''
  return doc.eol and not ends
end

local function same(buf, after)
  local now = text.read(buf)
  local empty = after == '\n' or after == '\r\n'
  minimal.equal(now.text, empty and '' or after)
end

local applied, refused = 0, 0

minimal.it('random edits of random texts', function()
  for seed = 1, ROUNDS do
    math.randomseed(seed)
    local buf = random_buffer()
    local doc = text.read(buf)
    local edits = random_edits(doc)
    local after = edited(doc, edits)
    local hunks, problem = plan.make(buf, doc, edits, 'utf-8')
    if hunks then
      minimal.equal(apply.run(buf, hunks, function() end), { done = true })
      if doc.text ~= '' then
        same(buf, after)
      end
      applied = applied + 1
    else
      minimal.equal(problem.status, 'refused')
      assert(changes_final_newline(doc, after) or #edits > 1, vim.inspect({ doc, edits }))
      same(buf, doc.text)
      refused = refused + 1
    end
    vim.api.nvim_buf_delete(buf, { force = true })
  end
end)

minimal.it('most of them are made, and some are not', function()
  assert(applied > ROUNDS * 0.6 and refused > ROUNDS * 0.01, ('%d made, %d refused'):format(applied, refused))
end)

minimal.finish()
