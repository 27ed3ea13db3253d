-- The chat of each session: made when it is first wanted, told what changes, with its keys and its windows in order.

local api = vim.api
local chat = require('smith.view.chat')
local colours = require('smith.view.colours')
local context = require('smith.context')
local folds = require('smith.view.folds')
local help = require('smith.help')
local keymaps = require('smith.keymaps')
local layout = require('smith.view.layout')
local log = require('smith.log')
local ready = require('smith.ready')
local session = require('smith.session')
local waiting = require('smith.waiting')
local winbar = require('smith.view.winbar')

local M = {}

local NARROWEST = 20

---@type table<string, smith.Chat> by root
local known = {}

--- One line about `self`.
---@param self smith.Session
---@return string
function M.status(self)
  return winbar.text(self:link(), self:conversation())
end

-- A question while no chat is in sight is told once; nothing takes the focus or a key.
---@param self smith.Session
---@param changed smith.Changed
---@param buf integer
local function call_attention(self, changed, buf)
  for _, block in ipairs(changed.blocks) do
    if block.kind == 'approval' and not block.decision and not block.told then
      block.told = true
      if changed.conversation == self:conversation() and not layout.window(buf) then
        log.tell(('may I run %s %s? :Smith yes|no|always, :Smith shows it'):format(block.name, block.title), 'warn')
      end
    end
  end
end

---@return table<integer, true> buffers that turns which run now have changed
local function touched()
  local all = {}
  for _, self in ipairs(session.all()) do
    if self:is_running() then
      all = vim.tbl_extend('force', all, self.touched)
    end
  end
  return all
end

---@param own smith.Chat
---@param text string? of a prompt that will not run
local function give_back(own, text)
  if text then
    waiting.add(function()
      if own:is_valid() and own.buf == api.nvim_get_current_buf() and not ready.check(own.buf, {}) then
        return false
      elseif own:is_valid() then
        own.input:offer(text)
      end
      return true
    end)
  end
end

---@param self smith.Session
---@param changed smith.Changed?
local function follow(self, changed)
  local own = known[self.root]
  if not own or not own:is_valid() then
    return
  end
  if not changed then
    own:show(self:conversation())
    own.input:learn(self:conversation())
  elseif changed.conversation == self:conversation() or not self:conversation() then
    own:update(changed)
    call_attention(self, changed, own.buf)
    give_back(own, changed.returned)
  end
  keymaps.follow(touched())
  winbar.show(own.buf, self:link(), self:conversation())
end

---@param self smith.Session
---@param own smith.Chat
local function watch_windows(self, own)
  local group = api.nvim_create_augroup('smith.windows.' .. own.buf, { clear = true })
  api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = own.buf,
    callback = function()
      local win = api.nvim_get_current_win()
      layout.dress(win)
      own:fit(math.max(api.nvim_win_get_width(win) - 1, NARROWEST))
      folds.clear(win)
      own.draw:fold_window(win)
      winbar.show(own.buf, self:link(), self:conversation())
    end,
  })
  api.nvim_create_autocmd('WinResized', {
    group = group,
    callback = function()
      for _, win in ipairs(vim.fn.win_findbuf(own.buf)) do
        own:fit(math.max(api.nvim_win_get_width(win) - 1, NARROWEST))
      end
      winbar.show(own.buf, self:link(), self:conversation())
    end,
  })
  api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = own.buf,
    callback = function()
      api.nvim_del_augroup_by_id(group)
      known[self.root] = nil
      chat.forget(own.buf)
    end,
  })
end

---@param self smith.Session
---@return smith.Chat
local function make(self)
  colours.define()
  help.prepare()
  local own = chat.new(self.root)
  own.is_busy = function()
    return self:is_busy()
  end
  known[self.root] = own
  keymaps.of_chat(own)
  watch_windows(self, own)
  if self:conversation() then
    own:show(self:conversation())
    own.input:learn(self:conversation())
  end
  return own
end

--- The chat of a session.
---@param self smith.Session
---@return smith.Chat
function M.get(self)
  local own = known[self.root]
  if own and own:is_valid() then
    return own
  end
  if not self.followed then
    self.followed = true
    self:on_change(follow)
  end
  return make(self)
end

---@param buf integer
---@return smith.Chat?
function M.of_buffer(buf)
  return chat.of_buffer(buf)
end

--- The file that the person looks at beside the chat.
---@param self smith.Session
---@return smith.Context?
function M.file_beside(self)
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  local wins = vim.list_extend({ previous }, api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(wins) do
    if win ~= 0 and api.nvim_win_is_valid(win) then
      local buf = api.nvim_win_get_buf(win)
      local found = context.of_buffer(buf)
      if found and session.root_of(buf) == self.root then
        return found
      end
    end
  end
end

return M
