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

---@alias smith.KeyChoice fun(chat: smith.Chat): fun()? what the key does there; nothing: what it always does

---@class smith.Key
---@field name string of `config.keys`
---@field modes string[]
---@field desc string
---@field choose smith.KeyChoice

---@param action string
---@return smith.KeyChoice
local function always(action)
  return function()
    return act(action)
  end
end

-- A question takes its keys from a person who has moved to it; a yes or a no also from one who waits at an
-- empty prompt. "always" is not given that easily: at a prompt its key begins to insert.
---@param decision string
---@return smith.KeyChoice
local function answer(decision)
  return function(chat)
    local waits = decision ~= 'always' and chat:waits_for_answer()
    return (waits or chat:question_at_cursor()) and act('answer', decision) or nil
  end
end

---@param step -1|1
---@return smith.KeyChoice
local function through_past(step)
  return function(chat)
    if vim.fn.pumvisible() == 0 and chat.input:has_cursor() then
      return function()
        chat.input:go_through(step)
      end
    end
  end
end

---@param step -1|1
---@return smith.KeyChoice
local function leave_edge(step)
  local go = through_past(step)
  return function(chat)
    return chat.input:at_edge(step) and go(chat) or nil
  end
end

-- With nothing to stop the key leaves insert mode, as ever.
---@type smith.KeyChoice
local function cancel(chat)
  return chat.is_busy() and act('cancel') or nil
end

-- What the key does is seen when its turn comes: it is looked up while what was typed just before is still on its way.
---@type smith.KeyChoice
local function complete(chat)
  return function()
    if vim.fn.pumvisible() == 0 and require('smith.complete').is_due(chat) then
      return act('complete')()
    end
    local key = vim.fn.pumvisible() == 1 and '<C-n>' or config.values.keys.complete
    api.nvim_feedkeys(vim.keycode(key), 'ni', false)
  end
end

---@type smith.KeyChoice
local function send_if_typed(chat)
  return chat.input:has_cursor() and act('send_prompt') or nil
end

---@type smith.Key[]
local CHAT = {
  { name = 'send', modes = { 'n' }, desc = 'send the prompt', choose = send_if_typed },
  { name = 'send_insert', modes = { 'i' }, desc = 'send the prompt', choose = always('send_prompt') },
  { name = 'cancel', modes = { 'n', 'i' }, desc = 'stop the running turn', choose = cancel },
  { name = 'complete', modes = { 'i' }, desc = 'complete a command', choose = complete },
  { name = 'older', modes = { 'n', 'i' }, desc = 'older prompt', choose = through_past(-1) },
  { name = 'newer', modes = { 'n', 'i' }, desc = 'newer prompt', choose = through_past(1) },
  { name = 'yes', modes = { 'n' }, desc = 'allow what is asked', choose = answer('yes') },
  { name = 'no', modes = { 'n' }, desc = 'refuse what is asked', choose = answer('no') },
  { name = 'always', modes = { 'n' }, desc = 'allow it for this session', choose = answer('always') },
  { name = 'close', modes = { 'n' }, desc = 'close the chat', choose = always('close') },
  { name = 'help', modes = { 'n' }, desc = 'help on the keys', choose = always('help') },
}

-- Keys that begin to insert lead to the prompt from anywhere above it.
local INSERTING = { 'i', 'I', 'a', 'A', 'o', 'O' }

-- Keys of folds do nothing where there is none, and reach the fold from every line of the head above it.
local FOLDING = { 'za', 'zA', 'zo', 'zO', 'zc', 'zC' }

---@param key string
---@return smith.KeyChoice
local function fold(key)
  return function(chat)
    return function()
      local cursor = api.nvim_win_get_cursor(0)
      local row = chat.draw:fold_at(cursor[1] - 1)
      local above = row and cursor[1] - 1 < row
      if above then
        api.nvim_win_set_cursor(0, { row + 1, 0 })
      end
      vim.cmd('silent! normal! ' .. key)
      if above then
        api.nvim_win_set_cursor(0, cursor)
      end
    end
  end
end

---@type smith.KeyChoice
local function insert_in_prompt(chat)
  if chat.input:has_cursor() then
    return nil
  end
  return function()
    vim.bo[chat.buf].modifiable = true
    chat.input:go_to_end(0)
    vim.cmd('startinsert!')
  end
end

---@type fun()? what the key that was just pressed does
local chosen

--- Does what a key has chosen. Keys go through `<Cmd>`, so that those typed after them come after them.
function M.perform()
  local run = chosen
  chosen = nil
  if run then
    run()
  end
end

---@param chat smith.Chat
---@param key string
---@param choices smith.KeyChoice[] the first that has something to do does it
---@param modes string[]
---@param desc string
local function map(chat, key, choices, modes, desc)
  vim.keymap.set(modes, key, function()
    for _, choose in ipairs(choices) do
      chosen = choose(chat) or nil
      if chosen then
        return "<Cmd>lua require('smith.keymaps').perform()<CR>"
      end
    end
    return key
  end, { buffer = chat.buf, expr = true, nowait = true, desc = 'smith: ' .. desc })
end

--- Sets the keys of a chat buffer.
---@param chat smith.Chat
function M.of_chat(chat)
  for _, key in ipairs(CHAT) do
    local lhs = config.values.keys[key.name]
    if lhs then
      map(chat, lhs, { key.choose }, key.modes, key.desc)
    end
  end
  for _, lhs in ipairs(INSERTING) do
    local choices = { insert_in_prompt }
    if lhs == config.values.keys.always then
      table.insert(choices, 1, answer('always'))
    end
    map(chat, lhs, choices, { 'n' }, 'insert in the prompt')
  end
  for _, lhs in ipairs(FOLDING) do
    map(chat, lhs, { fold(lhs) }, { 'n' }, 'open or close a fold')
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
