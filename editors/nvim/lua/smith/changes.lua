-- The changes that were made, each hunk under an extmark with its old and new text beside it.
-- What the marked text is now tells whether the change stands, was taken back or was touched.

local api = vim.api
local protocol = require('smith.protocol')

local M = {}

local SPACE = api.nvim_create_namespace('smith.changes')
local KEPT = 500
local NEIGHBOUR = 40

---@class smith.Tracked
---@field change string
---@field hunk integer
---@field mark integer
---@field old string
---@field new string
---@field nl string
---@field before string what stood right before and after a deletion
---@field after string
---@field told 'applied'|'undone'|'redone'|'touched'

---@class smith.Changes
---@field notify fun(method: string, params: table)
---@field buffers table<integer, smith.Tracked[]>
local Changes = {}
Changes.__index = Changes

---@param notify fun(method: string, params: table)
---@return smith.Changes
function M.new(notify)
  return setmetatable({ notify = notify, buffers = {} }, Changes)
end

---@param buf integer
---@param row integer
---@param col integer
---@return string before, string after
local function neighbours(buf, row, col)
  local lines = api.nvim_buf_get_lines(buf, math.max(row - 1, 0), row + 2, false)
  local at = row == 0 and 1 or 2
  local line = lines[at] or ''
  local before = (at == 2 and lines[1] .. '\n' or '') .. line:sub(1, col)
  local after = line:sub(col + 1) .. '\n' .. (lines[at + 1] or '')
  return before:sub(-NEIGHBOUR), after:sub(1, NEIGHBOUR)
end

---@param hunk smith.Hunk
---@return integer row, integer col
local function end_of(hunk)
  local count = #hunk.lines
  local row = hunk.from.row + count - 1
  return row, #hunk.lines[count] + (count == 1 and hunk.from.col or 0)
end

--- Marks a hunk whose new text was just put in.
---@param buf integer
---@param change string
---@param index integer which hunk of the change, from 0
---@param hunk smith.Hunk
---@param nl string
function Changes:track(buf, change, index, hunk, nl)
  local row, col = end_of(hunk)
  local mark = api.nvim_buf_set_extmark(buf, SPACE, hunk.from.row, hunk.from.col, {
    end_row = row,
    end_col = col,
    right_gravity = false,
    end_right_gravity = true,
    undo_restore = true,
  })
  local before, after = neighbours(buf, hunk.from.row, hunk.from.col)
  local list = self.buffers[buf] or {}
  self.buffers[buf] = list
  list[#list + 1] = {
    change = change,
    hunk = index,
    mark = mark,
    old = hunk.old,
    new = hunk.new,
    nl = nl,
    before = before,
    after = after,
    told = 'applied',
  }
  if #list > KEPT then
    api.nvim_buf_del_extmark(buf, SPACE, table.remove(list, 1).mark)
  end
end

--- Forgets the hunks of a change that was not made after all.
---@param buf integer
---@param change string
function Changes:forget(buf, change)
  local kept = {}
  for _, tracked in ipairs(self.buffers[buf] or {}) do
    if tracked.change == change then
      api.nvim_buf_del_extmark(buf, SPACE, tracked.mark)
    else
      kept[#kept + 1] = tracked
    end
  end
  self.buffers[buf] = kept
end

---@param buf integer
---@param mark integer
---@return string? text under it
---@return integer? row, integer? col
local function marked(buf, mark, nl)
  local place = api.nvim_buf_get_extmark_by_id(buf, SPACE, mark, { details = true })
  local details = place[3]
  if not details then
    return nil
  end
  -- After a replacement of the whole buffer a mark may lie past the end.
  local ok, lines = pcall(api.nvim_buf_get_text, buf, place[1], place[2], details.end_row, details.end_col, {})
  if ok then
    return table.concat(lines, nl), place[1], place[2]
  end
end

---@param buf integer
---@param tracked smith.Tracked
---@return 'applied'|'undone'|'touched'
local function state_of(buf, tracked)
  local text, row, col = marked(buf, tracked.mark, tracked.nl)
  if text == tracked.new then
    if text ~= '' then
      return 'applied'
    end
    -- An empty mark always reads so: a deletion stands as long as one of its neighbours is there.
    local before, after = neighbours(buf, row, col)
    return (before == tracked.before or after == tracked.after) and 'applied' or 'touched'
  end
  return text == tracked.old and 'undone' or 'touched'
end

--- Looks what became of the changes in `buf` and tells what was not told yet.
---@param buf integer
function Changes:look(buf)
  if not api.nvim_buf_is_loaded(buf) then
    self.buffers[buf] = nil
    return
  end
  for _, tracked in ipairs(self.buffers[buf] or {}) do
    local state = state_of(buf, tracked)
    if state == 'applied' and tracked.told ~= 'applied' then
      state = 'redone'
    end
    if state ~= tracked.told then
      tracked.told = state
      local params = { change = tracked.change, hunk = tracked.hunk, state = state }
      self.notify(protocol.method.change_state, params)
    end
  end
end

--- Looks at every buffer that was changed.
function Changes:look_all()
  for buf in pairs(self.buffers) do
    self:look(buf)
  end
end

return M
