-- Keeps the upper part of a chat buffer equal to a list of blocks, touching only what changed.
-- Below it, from row `rows` on, lies what the person is typing.

local api = vim.api
local blocks = require('smith.blocks')
local folds = require('smith.view.folds')
local paint = require('smith.view.paint')

local M = {}

local PLACES = api.nvim_create_namespace('smith.places')

---@class smith.Place.Block where a block stands
---@field mark integer extmark on its first line
---@field gap integer blank lines before it
---@field lines integer
---@field head integer lines that stay in sight when it is folded
---@field version integer
---@field done boolean?
---@field folded boolean?

---@class smith.Draw
---@field buf integer
---@field width integer
---@field drawing boolean the buffer is being changed by us
---@field rows integer that the blocks take
---@field order smith.Block[]
---@field places table<smith.Block, smith.Place.Block>
local Draw = {}
Draw.__index = Draw

---@param buf integer
---@param width integer
---@return smith.Draw
function M.new(buf, width)
  return setmetatable({ buf = buf, width = width, drawing = false, rows = 0, order = {}, places = {} }, Draw)
end

---@param self smith.Draw
---@param block smith.Block
---@return integer row of its first line, from 0
local function row_of(self, block)
  return api.nvim_buf_get_extmark_by_id(self.buf, PLACES, self.places[block].mark, {})[1]
end

---@param self smith.Draw
---@param change fun()
local function write(self, change)
  local levels = api.nvim_get_option_value('undolevels', { buf = self.buf })
  local modifiable = vim.bo[self.buf].modifiable
  self.drawing = true
  vim.bo[self.buf].modifiable = true
  paint.set_undolevels(self.buf, -1)
  local ok, problem = pcall(change)
  paint.set_undolevels(self.buf, levels)
  vim.bo[self.buf].modifiable = modifiable
  vim.bo[self.buf].modified = false
  self.drawing = false
  if not ok then
    error(problem, 0)
  end
end

---@param self smith.Draw
---@param block smith.Block
---@param row integer
local function set_place(self, block, row)
  local place = self.places[block]
  place.mark = api.nvim_buf_set_extmark(self.buf, PLACES, row, 0, { id = place.mark })
end

---@param self smith.Draw
---@param block smith.Block
---@return boolean
local function has_fold(self, block)
  return blocks.folds(block) and self.places[block].lines > self.places[block].head
end

--- The rows that are folded, the last line of the head first.
---@param block smith.Block
---@return integer first, integer last row from 0
function Draw:fold_of(block)
  local row, place = row_of(self, block), self.places[block]
  return row + place.head - 1, row + place.lines - 1
end

---@param self smith.Draw
---@param block smith.Block
local function fold(self, block)
  local place = self.places[block]
  if has_fold(self, block) and not place.folded then
    place.folded = true
    folds.set(self.buf, self:fold_of(block))
  end
end

---@param block smith.Block
---@return integer
local function version_of(block)
  return block.body and block.body.version or 0
end

---@param block smith.Block
---@param gap integer
---@param lines integer
---@param head integer?
---@return smith.Place.Block
local function new_place(block, gap, lines, head)
  return { gap = gap, lines = lines, head = head or 1, version = version_of(block), done = block.done }
end

---@param self smith.Draw
---@param block smith.Block
local function append(self, block)
  local row = self.rows
  local gap = blocks.gap(self.order[#self.order], block)
  local lines, marks, head = blocks.render(block, self.width)
  local text = vim.list_extend(gap == 1 and { '' } or {}, lines)
  api.nvim_buf_set_lines(self.buf, row, row, true, text)
  self.order[#self.order + 1] = block
  self.places[block] = new_place(block, gap, #lines, head)
  self.rows = row + #text
  set_place(self, block, row + gap)
  paint.colour(self.buf, row + gap, marks, #lines)
  fold(self, block)
end

---@param self smith.Draw
---@param block smith.Block
local function grow(self, block)
  local place = self.places[block]
  local row = row_of(self, block)
  local lines, marks = blocks.render(block, self.width, place.lines)
  paint.extend(self.buf, row + place.lines - 1, lines)
  paint.colour(self.buf, row + place.lines - 1, marks, #lines)
  place.lines = place.lines - 1 + #lines
  self.rows = self.rows - 1 + #lines
  set_place(self, block, row)
end

---@param self smith.Draw
---@param block smith.Block
local function redraw(self, block)
  local place = self.places[block]
  local row = row_of(self, block)
  local lines, marks, head = blocks.render(block, self.width)
  paint.replace(self.buf, row, place.lines, lines)
  paint.colour(self.buf, row, marks, #lines)
  self.rows = self.rows - place.lines + #lines
  place.lines, place.head, place.version, place.done = #lines, head or 1, version_of(block), block.done
  set_place(self, block, row)
end

---@param self smith.Draw
---@param block smith.Block
local function update(self, block)
  local place = self.places[block]
  if not place then
    return append(self, block)
  end
  if blocks.grows(block) and place.version == version_of(block) and place.done == block.done then
    grow(self, block)
  else
    redraw(self, block)
  end
  fold(self, block)
end

---@param self smith.Draw
---@param block smith.Block
local function remove(self, block)
  local place = self.places[block]
  local row = row_of(self, block)
  api.nvim_buf_set_lines(self.buf, row - place.gap, row + place.lines, true, {})
  api.nvim_buf_del_extmark(self.buf, PLACES, place.mark)
  self.rows = self.rows - place.gap - place.lines
  self.places[block] = nil
  for i = #self.order, 1, -1 do
    if self.order[i] == block then
      table.remove(self.order, i)
    end
  end
end

--- Draws what changed. New blocks come at the end.
---@param changed smith.Block[] new or changed, in the order of the conversation
---@param removed smith.Block[] from the end of the conversation
function Draw:update(changed, removed)
  write(self, function()
    for _, block in ipairs(removed) do
      if self.places[block] then
        remove(self, block)
      end
    end
    for _, block in ipairs(changed) do
      update(self, block)
    end
  end)
end

---@param self smith.Draw
---@param all smith.Block[]
---@return string[] text, table[] drawn marks by row
local function lay_out(self, all)
  local text, drawn = {}, {}
  for i, block in ipairs(all) do
    local gap = blocks.gap(all[i - 1], block)
    local lines, marks, head = blocks.render(block, self.width)
    if gap == 1 then
      text[#text + 1] = ''
    end
    drawn[i] = { row = #text, marks = marks, count = #lines }
    vim.list_extend(text, lines)
    self.order[i] = block
    self.places[block] = new_place(block, gap, #lines, head)
  end
  return text, drawn
end

--- Draws everything again above row `typed`, where the person's own text begins now.
---@param all smith.Block[]
---@param typed integer
function Draw:reset(all, typed)
  write(self, function()
    api.nvim_buf_clear_namespace(self.buf, PLACES, 0, -1)
    paint.clear(self.buf)
    self.order, self.places = {}, {}
    local text, drawn = lay_out(self, all)
    self.rows = #text
    api.nvim_buf_set_lines(self.buf, 0, typed, true, text)
    for i, block in ipairs(all) do
      set_place(self, block, drawn[i].row)
      paint.colour(self.buf, drawn[i].row, drawn[i].marks, drawn[i].count)
    end
    -- The folds went with the lines.
    for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
      self:fold_window(win)
    end
  end)
end

--- Makes the folds of a window that has none.
---@param win integer
function Draw:fold_window(win)
  local spans = {}
  for _, block in ipairs(self.order) do
    if has_fold(self, block) then
      self.places[block].folded = true
      spans[#spans + 1] = { self:fold_of(block) }
    end
  end
  folds.add(win, spans)
end

--- Where the fold of the block at `row` begins.
---@param row integer from 0
---@return integer? row from 0
function Draw:fold_at(row)
  local block = self:block_at(row)
  return block and has_fold(self, block) and (self:fold_of(block)) or nil
end

--- The block that the row belongs to.
---@param row integer from 0
---@return smith.Block?
function Draw:block_at(row)
  for i = #self.order, 1, -1 do
    local block = self.order[i]
    local first = row_of(self, block)
    if row >= first then
      return row < first + self.places[block].lines and block or nil
    end
  end
end

return M
