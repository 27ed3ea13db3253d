-- Keeps the upper part of a chat buffer as it was drawn: it cannot be edited, and what slips through is drawn again.

local api = vim.api
local hint = require('smith.view.hint')
local ready = require('smith.ready')
local rule = require('smith.view.rule')
local waiting = require('smith.waiting')

local M = {}

local TYPED = api.nvim_create_namespace('smith.typed')

---@param chat smith.Chat
---@param row integer
---@return boolean
local function is_marked(chat, row)
  local place = chat.typed_mark and api.nvim_buf_get_extmark_by_id(chat.buf, TYPED, chat.typed_mark, {})
  return place ~= nil and place[1] == row and place[2] == 0
end

--- Marks where the typed part begins, with the rule above it.
---@param chat smith.Chat
function M.mark(chat)
  hint.show(chat)
  local row, look = chat.draw.rows, rule.key(chat)
  if is_marked(chat, row) and chat.rule_key == look then
    return
  end
  if row < api.nvim_buf_line_count(chat.buf) then
    chat.rule_key = look
    chat.typed_mark = api.nvim_buf_set_extmark(chat.buf, TYPED, row, 0, {
      id = chat.typed_mark,
      right_gravity = false,
      virt_lines = rule.lines(chat),
      virt_lines_above = row > 0,
    })
  end
end

---@param chat smith.Chat
---@param row integer where the cursor was, from the mark on
---@param col integer
local function put_cursor(chat, row, col)
  if api.nvim_get_current_buf() == chat.buf then
    local last = api.nvim_buf_line_count(chat.buf)
    pcall(api.nvim_win_set_cursor, 0, { math.min(chat.draw.rows + 1 + row, last), col })
  end
end

-- Deleting all that was typed takes its only line away.
---@param chat smith.Chat
local function keep_a_line(chat)
  local count = api.nvim_buf_line_count(chat.buf)
  if chat.draw.rows < count then
    return
  end
  vim.bo[chat.buf].modifiable = true
  api.nvim_buf_set_lines(chat.buf, count, count, false, { '' })
  put_cursor(chat, 0, 0)
end

-- What stands behind the mark is the person's; everything else is drawn again above it.
---@param chat smith.Chat
local function repair(chat)
  local place = api.nvim_buf_get_extmark_by_id(chat.buf, TYPED, chat.typed_mark, {})
  local row, col = place[1] or 0, place[2] or 0
  local cursor = api.nvim_win_get_cursor(0)
  local rest = api.nvim_buf_get_lines(chat.buf, row, -1, false)
  rest[1] = (rest[1] or ''):sub(col + 1)
  chat.draw.drawing = true
  vim.bo[chat.buf].modifiable = true
  api.nvim_buf_set_lines(chat.buf, 0, -1, false, rest)
  chat.draw:reset(chat.conversation and chat.conversation.blocks or {}, 0)
  M.mark(chat)
  local down = math.max(cursor[1] - 1 - row, 0)
  put_cursor(chat, down, down == 0 and math.max(cursor[2] - col, 0) or cursor[2])
end

---@param chat smith.Chat
---@return boolean
local function mend(chat)
  if not chat:is_valid() then
    return true
  elseif chat.buf == api.nvim_get_current_buf() and not ready.check(chat.buf, {}) then
    return false
  end
  if chat.damaged then
    repair(chat)
  else
    keep_a_line(chat)
  end
  chat.damaged = false
  return true
end

---@param chat smith.Chat
local function mend_soon(chat)
  waiting.add(function()
    return mend(chat)
  end)
end

--- The drawn part may be wrong: it is drawn again, above what the person typed.
---@param chat smith.Chat
function M.distrust(chat)
  chat.damaged = true
  mend_soon(chat)
end

---@param chat smith.Chat
local function hint_soon(chat)
  vim.schedule(function()
    if chat:is_valid() then
      hint.show(chat)
    end
  end)
end

---@param chat smith.Chat
---@param first integer row of the change
local function changed(chat, first)
  if chat.draw.drawing then
    return
  elseif first < chat.draw.rows then
    M.distrust(chat)
  elseif chat.draw.rows >= api.nvim_buf_line_count(chat.buf) then
    mend_soon(chat)
  end
  if not chat.sent then
    hint_soon(chat)
  end
end

---@param chat smith.Chat
local function follow_cursor(chat)
  local editable = chat.input:has_cursor()
  if vim.bo[chat.buf].modifiable ~= editable then
    vim.bo[chat.buf].modifiable = editable
  end
end

--- Begins to watch the buffer of `chat`.
---@param chat smith.Chat
function M.watch(chat)
  M.mark(chat)
  api.nvim_buf_attach(chat.buf, false, {
    on_lines = function(_, _, _, first)
      changed(chat, first)
    end,
  })
  local group = api.nvim_create_augroup('smith.chat.' .. chat.buf, { clear = true })
  api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'BufEnter' }, {
    group = group,
    buffer = chat.buf,
    callback = function()
      follow_cursor(chat)
    end,
  })
end

return M
