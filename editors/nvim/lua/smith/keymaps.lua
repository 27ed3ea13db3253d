-- Keys as data: each points at the name of an action.

local api = vim.api
local config = require('smith.config')

local M = {}

---@param action string
---@return fun()
local function act(action, ...)
  local arguments = { ... }
  return function()
    require('smith.actions')[action](unpack(arguments))
  end
end

---@class smith.Key
---@field name string of `config.keys`
---@field modes string[]
---@field desc string
---@field run fun(chat: smith.Chat): boolean? false: the key means what it always means

---@param action string
---@return fun(): boolean?
local function always(action)
  local run = act(action)
  return function()
    vim.schedule(run)
  end
end

-- A question takes its keys only from a person who has moved to it.
---@param decision string
---@return fun(chat: smith.Chat): boolean?
local function answer(decision)
  return function(chat)
    if not chat:question_at_cursor() then
      return false
    end
    vim.schedule(act('answer', decision))
  end
end

---@param step -1|1
---@return fun(chat: smith.Chat): boolean?
local function through_past(step)
  return function(chat)
    if vim.fn.pumvisible() == 1 or not chat.input:has_cursor() then
      return false
    end
    vim.schedule(function()
      chat.input:go_through(step)
    end)
  end
end

---@param step -1|1
---@return fun(chat: smith.Chat): boolean?
local function leave_edge(step)
  local go = through_past(step)
  return function(chat)
    return chat.input:at_edge(step) and go(chat)
  end
end

---@param chat smith.Chat
---@return boolean?
local function send_if_typed(chat)
  if not chat.input:has_cursor() then
    return false
  end
  vim.schedule(act('send_prompt'))
end

---@type smith.Key[]
local CHAT = {
  { name = 'send', modes = { 'n' }, desc = 'send the prompt', run = send_if_typed },
  { name = 'send_insert', modes = { 'i' }, desc = 'send the prompt', run = always('send_prompt') },
  { name = 'cancel', modes = { 'n', 'i' }, desc = 'stop the running turn', run = always('cancel') },
  { name = 'older', modes = { 'n', 'i' }, desc = 'older prompt', run = through_past(-1) },
  { name = 'newer', modes = { 'n', 'i' }, desc = 'newer prompt', run = through_past(1) },
  { name = 'yes', modes = { 'n' }, desc = 'allow what is asked', run = answer('yes') },
  { name = 'no', modes = { 'n' }, desc = 'refuse what is asked', run = answer('no') },
  { name = 'always', modes = { 'n' }, desc = 'allow it for this session', run = answer('always') },
  { name = 'close', modes = { 'n' }, desc = 'close the chat', run = always('close') },
  { name = 'help', modes = { 'n' }, desc = 'help on the keys', run = always('help') },
}

-- Keys that begin to insert lead to the prompt from anywhere above it.
local INSERTING = { 'i', 'I', 'a', 'A', 'o', 'O' }

---@param chat smith.Chat
---@return boolean?
local function insert_in_prompt(chat)
  if chat.input:has_cursor() then
    return false
  end
  vim.schedule(function()
    chat.input:go_to_end(0)
    vim.cmd('startinsert!')
  end)
end

---@param chat smith.Chat
---@param key string
---@param runs (fun(chat: smith.Chat): boolean?)[] tried in order
---@param modes string[]
---@param desc string
local function map(chat, key, runs, modes, desc)
  vim.keymap.set(modes, key, function()
    for _, run in ipairs(runs) do
      if run(chat) ~= false then
        return '<Ignore>'
      end
    end
    return key
  end, { buffer = chat.buf, expr = true, nowait = true, desc = 'smith: ' .. desc })
end

--- Sets the keys of a chat buffer.
---@param chat smith.Chat
function M.of_chat(chat)
  local always_key = config.values.keys.always
  for _, key in ipairs(CHAT) do
    local lhs = config.values.keys[key.name]
    if lhs then
      map(chat, lhs, { key.run }, key.modes, key.desc)
    end
  end
  for _, lhs in ipairs(INSERTING) do
    local runs = lhs == always_key and { answer('always'), insert_in_prompt } or { insert_in_prompt }
    map(chat, lhs, runs, { 'n' }, 'insert in the prompt')
  end
  map(chat, '<Up>', { leave_edge(-1) }, { 'i' }, 'older prompt')
  map(chat, '<Down>', { leave_edge(1) }, { 'i' }, 'newer prompt')
end

---@type table<integer, table|false> buffers with our cancel key, and the map that it hides
local lent = {}

---@param buf integer
---@param key string
---@return table|false
local function own_map(buf, key)
  for _, map_of_buf in ipairs(api.nvim_buf_get_keymap(buf, 'n')) do
    if vim.keycode(map_of_buf.lhs) == vim.keycode(key) then
      return map_of_buf
    end
  end
  return false
end

---@param buf integer
---@param key string
local function lend(buf, key)
  lent[buf] = own_map(buf, key)
  vim.keymap.set('n', key, act('cancel'), { buffer = buf, nowait = true, desc = 'smith: stop the running turn' })
end

---@param buf integer
---@param key string
local function take_back(buf, key)
  local hidden = lent[buf]
  lent[buf] = nil
  if not api.nvim_buf_is_valid(buf) then
    return
  end
  pcall(vim.keymap.del, 'n', key, { buffer = buf })
  if hidden then
    api.nvim_buf_call(buf, function()
      vim.fn.mapset('n', false, hidden)
    end)
  end
end

--- Lets the cancel key work in exactly these buffers, besides the chats.
---@param buffers table<integer, true>
function M.follow(buffers)
  local key = config.values.keys.cancel
  if not key then
    return
  end
  for buf in pairs(lent) do
    if not buffers[buf] then
      take_back(buf, key)
    end
  end
  for buf in pairs(buffers) do
    if lent[buf] == nil and api.nvim_buf_is_valid(buf) then
      lend(buf, key)
    end
  end
end

return M
