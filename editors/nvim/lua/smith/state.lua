-- What a chat shows, as a fold over the events of the server: `reduce` takes one event in and names what it changed.
-- Touches no buffer and calls nothing of the editor. Blocks are changed in place, so that a delta costs the same
-- however long the chat is.

local handlers = require('smith.state.handlers')

local M = {}

---@class smith.Turn
---@field id string
---@field status 'running'|'completed'|'cancelled'|'failed'|'lost'
---@field text string

---@class smith.Conversation
---@field id string
---@field root string
---@field title string
---@field blocks smith.Block[] in the order in which they are shown
---@field messages table<string, smith.Block[]> blocks by message
---@field calls table<string, smith.Block> by call id
---@field approvals table<string, smith.Block> by question id
---@field asking string[] ids of the open questions, oldest first
---@field queue {id: string, text: string}[] prompts that wait
---@field turn smith.Turn?
---@field status 'idle'|'thinking'|'streaming'|'tool'|'waiting'|'cancelling'|'error'
---@field note string? what the status line adds: a retry, an edit that waits
---@field model string
---@field usage table? tokens of the turn
---@field context integer tokens of the last request
---@field cost number? US dollars of the whole conversation, where they are known
---@field open_messages table<string, true> messages of the request that runs
---@field holder table? the process that writes it when that is another one
---@field gone boolean? the server knows it no more
---@field jobs table<string, smith.Block> calls by the jobs of the children below them
---@field prompt string? of the running turn, until the message that it became is told
---@field plan {content: string, status: string}[]
---@field compacting smith.Block? the line about a compaction that goes on

---@class smith.Block
---@field kind 'prompt'|'text'|'thinking'|'call'|'approval'|'notice'

---@class smith.State
---@field conversations table<string, smith.Conversation>
---@field current string? id of the conversation that is shown

---@class smith.Changed
---@field conversation smith.Conversation
---@field blocks smith.Block[] new or changed
---@field removed smith.Block[]
---@field switched boolean another conversation is shown now
---@field returned string? a prompt that will not run, for the person who typed it

---@return smith.State
function M.new()
  return { conversations = {}, current = nil }
end

---@param id string
---@return smith.Conversation
function M.conversation(id)
  return {
    id = id,
    root = '',
    title = '',
    blocks = {},
    messages = {},
    calls = {},
    jobs = {},
    plan = {},
    approvals = {},
    asking = {},
    queue = {},
    turn = nil,
    status = 'idle',
    model = '',
    context = 0,
    open_messages = {},
  }
end

---@param state smith.State
---@param event table
---@return smith.Conversation
local function conversation_of(state, event)
  local id = event.conversation
  if not id or id == '' then
    id = state.current or ''
  end
  local known = state.conversations[id]
  if not known then
    known = M.conversation(id)
    state.conversations[id] = known
  end
  return known
end

---@param state smith.State
---@param event table
---@return boolean
local function takes_over(state, event)
  local id = event.conversation or ''
  if id == '' or id == state.current or event.job then
    return false
  end
  local known = state.conversations[id]
  local begins = event.kind == 'turn_started' and not (known and known.holder)
  return state.current == nil or event.kind == 'session_started' or begins
end

--- Takes `event` in. An event of a kind that is not known changes nothing.
---@param state smith.State
---@param event table as on the wire
---@return smith.Changed
function M.reduce(state, event)
  local switched = takes_over(state, event)
  if switched then
    state.current = event.conversation
  end
  local conversation = conversation_of(state, event)
  local changed = { conversation = conversation, blocks = {}, removed = {}, switched = switched }
  local handle = event.job and handlers.of_child[event.kind] or not event.job and handlers.of_turn[event.kind]
  if event.job then
    handlers.place(conversation, event)
  end
  if handle then
    handle(conversation, event, changed)
  end
  return changed
end

---@param state smith.State
---@return smith.Conversation? the one that is shown; before the first there may be news of our own
function M.shown(state)
  return state.conversations[state.current or '']
end

--- Shows conversation `id`, with what is known of it.
---@param state smith.State
---@param id string
function M.show(state, id)
  state.conversations[id] = state.conversations[id] or M.conversation(id)
  state.current = id
end

--- Replaces a conversation by what `events` tell of it.
---@param state smith.State
---@param id string
---@param events table[]
---@return smith.Conversation
function M.load(state, id, events)
  state.conversations[id] = M.conversation(id)
  state.current = id
  for _, event in ipairs(events) do
    M.reduce(state, vim.tbl_extend('keep', event, { conversation = id }))
  end
  state.current = id
  return state.conversations[id]
end

return M
