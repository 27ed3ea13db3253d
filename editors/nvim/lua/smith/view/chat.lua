-- A chat buffer: blocks above, what the person types below. Draws when told what changed; sends nothing.

local api = vim.api
local uv = vim.uv or vim.loop
local draw = require('smith.view.draw')
local guard = require('smith.view.guard')
local input = require('smith.view.input')
local layout = require('smith.view.layout')
local ready = require('smith.ready')
local waiting = require('smith.waiting')

local M = {}

local WIDTH = 80
-- A stream is drawn at most once in this time; its first piece at once.
local FRAME_MS = 16

---@class smith.Chat
---@field buf integer
---@field root string
---@field draw smith.Draw
---@field input smith.Input
---@field conversation smith.Conversation?
---@field changed smith.Block[] not drawn yet, each once
---@field seen table<smith.Block, true> the same
---@field removed table<smith.Block, true>
---@field stale boolean all must be drawn again
---@field is_busy fun(): boolean whether there is something to cancel
---@field moved boolean? another conversation is shown than was drawn last
---@field waits boolean a later try is arranged
---@field drawn_at number in ms of the loop's clock
---@field damaged boolean? the drawn part was edited and will be drawn again
---@field typed_mark integer? extmark where the typed part begins
---@field rule_key string? what the rule above it shows
---@field sent boolean? the person has sent something from here
---@field hint boolean? the prompt shows how to send
---@field context smith.Context? goes with the next prompt
local Chat = {}
Chat.__index = Chat

---@type table<integer, smith.Chat>
local chats = {}

---@param root string
---@return integer
local function make_buffer(root)
  local buf = api.nvim_create_buf(true, true)
  local name = 'smith://' .. root
  -- An unloaded chat keeps its name.
  for _, old in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(old) == name then
      api.nvim_buf_delete(old, { force = true })
    end
  end
  api.nvim_buf_set_name(buf, name)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.b[buf].smith_root = root
  return buf
end

---@param root string
---@return smith.Chat
function M.new(root)
  local buf = make_buffer(root)
  local self = setmetatable({ buf = buf, root = root, waits = false, drawn_at = 0 }, Chat)
  self:forget_changes(false)
  self.draw = draw.new(buf, WIDTH)
  self.input = input.new(buf, function()
    return self.draw.rows
  end)
  chats[buf] = self
  guard.watch(self)
  vim.bo[buf].filetype = 'smith-chat'
  return self
end

---@param buf integer
---@return smith.Chat?
function M.of_buffer(buf)
  return chats[buf]
end

--- Forgets a chat whose buffer is gone.
---@param buf integer
function M.forget(buf)
  chats[buf] = nil
end

--- Nothing is to be drawn, or everything.
---@param stale boolean
function Chat:forget_changes(stale)
  self.changed, self.seen, self.removed, self.stale = {}, {}, {}, stale
end

---@return boolean
function Chat:is_valid()
  return api.nvim_buf_is_loaded(self.buf)
end

-- Drawing moves the lines of what is typed: where that is going on, it follows the same rule as any change.
---@param self smith.Chat
---@return boolean
local function may_draw(self)
  return self.buf ~= api.nvim_get_current_buf() or (ready.check(self.buf, {}))
end

---@param self smith.Chat
local function draw_now(self)
  if self.stale then
    self.draw:reset(self.conversation and self.conversation.blocks or {}, self.draw.rows)
  else
    local removed = self.removed
    local changed = vim.tbl_filter(function(block)
      return not removed[block]
    end, self.changed)
    self.draw:update(changed, vim.tbl_keys(removed))
  end
  self:forget_changes(false)
  self.drawn_at = uv.now()
  guard.mark(self)
  local moved, typed = self.moved, self.input:text() ~= ''
  self.moved = false
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local types = self.input:has_cursor(win)
    -- Somebody who types already stays where they are.
    if moved and not (typed and types) then
      self.input:go_to_end(win)
      layout.show_end(win)
    elseif types then
      layout.fill(win)
    end
  end
end

---@param self smith.Chat
---@return boolean
local function try(self)
  -- The repair of a damaged buffer draws everything.
  if not self:is_valid() or self.damaged then
    return true
  elseif not may_draw(self) then
    return false
  end
  local ok, problem = pcall(draw_now, self)
  -- Text may be locked in this tick, which cannot be asked.
  if not ok and not tostring(problem):find('E565') then
    guard.distrust(self)
    error(problem, 0)
  end
  return ok
end

---@param self smith.Chat
local function try_later(self)
  self.waits = true
  waiting.retry(function()
    self.waits = false
    self.waits = not try(self)
    return not self.waits
  end)
end

--- Draws what is not drawn yet: now, with the next frame, or as soon as the editor is ready for it.
function Chat:refresh()
  if self.waits then
    return
  end
  local rest = self.drawn_at + FRAME_MS - uv.now()
  if rest > 0 then
    self.waits = true
    vim.defer_fn(function()
      self.waits = false
      self:refresh()
    end, rest)
  elseif not try(self) then
    try_later(self)
  end
end

--- Takes in what an event changed.
---@param changed smith.Changed
function Chat:update(changed)
  if changed.switched or changed.conversation ~= self.conversation then
    return self:show(changed.conversation)
  end
  for _, block in ipairs(changed.blocks) do
    if not self.seen[block] then
      self.seen[block] = true
      self.changed[#self.changed + 1] = block
    end
  end
  for _, block in ipairs(changed.removed) do
    self.removed[block] = true
  end
  if #changed.blocks > 0 or #changed.removed > 0 then
    self:refresh()
  else
    guard.mark(self)
  end
end

--- Shows another conversation, from its end, or the same one drawn anew.
---@param conversation smith.Conversation?
function Chat:show(conversation)
  self.moved = self.moved or (conversation and conversation.id) ~= (self.conversation and self.conversation.id)
  self.conversation = conversation
  self:forget_changes(true)
  self:refresh()
end

--- The chat is shown in a window where a line has room for `width` cells.
---@param width integer
function Chat:fit(width)
  self.draw.width = width
  guard.mark(self)
end

--- The open question under the cursor of the current window.
---@return string? id
function Chat:question_at_cursor()
  if api.nvim_get_current_buf() ~= self.buf then
    return nil
  end
  local block = self.draw:block_at(api.nvim_win_get_cursor(0)[1] - 1)
  if block and block.kind == 'approval' and not block.decision then
    return block.id
  end
end

--- Whether the person waits at an empty prompt while a question is open.
---@return boolean
function Chat:waits_for_answer()
  local asking = self.conversation and self.conversation.asking or {}
  return asking[1] ~= nil and self.input:has_cursor() and self.input:text() == ''
end

return M
