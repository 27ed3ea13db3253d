-- Sessions, turns and the words of the model: what their events do to a conversation.

local Lines = require('smith.state.lines')
local news = require('smith.state.news')
local record = require('smith.state.changed')
local tables = require('smith.state.tables')

local M = {}

---@param conversation smith.Conversation
---@param event table
---@param changed smith.Changed
---@param kind 'text'|'thinking'
local function grow(conversation, event, changed, kind)
  local last = conversation.blocks[#conversation.blocks]
  if not last or last.kind ~= kind or last.message ~= event.message then
    last = record.add(conversation, changed, { kind = kind, message = event.message, body = Lines.new() })
    local blocks = conversation.messages[event.message] or {}
    conversation.messages[event.message] = blocks
    blocks[#blocks + 1] = last
    conversation.open_messages[event.message] = true
  else
    record.touch(changed, last)
  end
  Lines.append(last.body, event.text)
end

---@param conversation smith.Conversation
---@param id string
local function drop_from_queue(conversation, id)
  for i, waiting in ipairs(conversation.queue) do
    if waiting.id == id then
      table.remove(conversation.queue, i)
      return
    end
  end
end

---@param conversation smith.Conversation
---@param changed smith.Changed
---@param status smith.Turn.status
local function end_turn(conversation, changed, status)
  record.end_thinking(conversation, changed)
  record.end_compacting(conversation, changed, news.NOT_COMPACTED)
  for _, call in pairs(conversation.calls) do
    if call.status == 'running' then
      call.status = 'lost'
      record.touch(changed, call)
    end
  end
  for _, id in ipairs(conversation.asking) do
    conversation.approvals[id].decision = 'withdrawn'
    record.touch(changed, conversation.approvals[id])
  end
  conversation.asking = {}
  conversation.approvals = {}
  conversation.calls = {}
  conversation.jobs = {}
  conversation.messages = {}
  conversation.open_messages = {}
  conversation.note = nil
  conversation.status = status == 'failed' and 'error' or 'idle'
  if conversation.turn then
    conversation.turn.status = status
  end
end

-- What went wrong, from a server of any version.
---@param event table
---@param otherwise string?
---@return string
local function error_text(event, otherwise)
  local error = type(event.error) == 'table' and event.error or {}
  return error.message or event.message or otherwise or 'Something failed; the log of the server has more.'
end

local on = M

function on.session_started(conversation, event)
  conversation.root = event.root or ''
  conversation.title = event.title or ''
  conversation.holder = next(event.holder or {}) and event.holder or nil
  conversation.gone = nil
end

function on.session_failed(conversation, event, changed)
  end_turn(conversation, changed, 'failed')
  record.notice(conversation, changed, 'error', error_text(event))
end

function on.conversation_changed(conversation, event, changed)
  if event.change == 'renamed' then
    conversation.title = event.title or ''
  elseif event.change == 'moved' then
    conversation.root = event.root or ''
  elseif event.change == 'released' then
    conversation.holder = nil
    record.notice(conversation, changed, 'info', news.RELEASED)
  elseif event.change == 'deleted' then
    conversation.gone = true
    record.notice(conversation, changed, 'warning', news.DELETED)
  end
end

function on.session_stopped(conversation, _, changed)
  end_turn(conversation, changed, 'completed')
end

function on.prompt_queued(conversation, event)
  table.insert(conversation.queue, { id = event.id, text = event.text })
end

function on.prompt_edited(conversation, event)
  for _, waiting in ipairs(conversation.queue) do
    waiting.text = waiting.id == event.id and event.text or waiting.text
  end
end

function on.prompt_taken(conversation, event)
  drop_from_queue(conversation, event.id)
end

function on.prompt_dropped(conversation, event, changed)
  drop_from_queue(conversation, event.id)
  changed.returned = event.text
  record.notice(conversation, changed, 'info', 'not sent: ' .. event.text)
end

-- A server may name the prompt that waited, or only say its text again.
---@param conversation smith.Conversation
---@param event table
local function take_from_queue(conversation, event)
  for _, waiting in ipairs(conversation.queue) do
    if waiting.id == event.queued or ((event.queued or '') == '' and waiting.text == event.text) then
      return drop_from_queue(conversation, waiting.id)
    end
  end
end

function on.turn_started(conversation, event, changed)
  take_from_queue(conversation, event)
  conversation.turn = { id = event.turn, status = 'running', text = event.text }
  conversation.prompt = event.text
  conversation.model = event.model or ''
  conversation.status = 'thinking'
  conversation.usage = nil
  record.add(conversation, changed, { kind = 'prompt', text = event.text })
end

function on.llm_request_started(conversation, event)
  conversation.model = event.model or conversation.model
  conversation.status = 'thinking'
  conversation.note = nil
  conversation.open_messages = {}
end

function on.llm_retry(conversation, event, changed)
  local message = error_text(event, 'the request failed')
  conversation.note = event.attempt and news.retried(event, message) or message
  if not event.discard_output then
    return
  end
  local gone = {}
  for id in pairs(conversation.open_messages) do
    for _, block in ipairs(conversation.messages[id] or {}) do
      gone[block] = true
    end
    conversation.messages[id] = nil
  end
  record.remove(conversation, changed, gone)
end

function on.llm_reasoning_delta(conversation, event, changed)
  conversation.status = 'thinking'
  grow(conversation, event, changed, 'thinking')
end

function on.llm_output_delta(conversation, event, changed)
  conversation.status = 'streaming'
  grow(conversation, event, changed, 'text')
end

---@param blocks smith.Block[]
---@return smith.Block[]
local function text_blocks(blocks)
  return vim.tbl_filter(function(block)
    return block.kind == 'text'
  end, blocks)
end

-- The prompt itself was shown when its turn began; what else was said comes in the middle of the turn.
---@param conversation smith.Conversation
---@param changed smith.Changed
---@param text string?
local function hear(conversation, changed, text)
  if text == conversation.prompt then
    conversation.prompt = nil
  elseif (text or '') ~= '' then
    record.add(conversation, changed, { kind = 'prompt', text = text })
  end
end

---@param blocks smith.Block[]
---@param changed smith.Changed
local function align_tables(blocks, changed)
  for _, block in ipairs(blocks) do
    local text = tables.aligned(block.body)
    if text then
      Lines.replace(block.body, text)
      record.touch(changed, block)
    end
  end
end

-- Deltas have shown the text already; where some were missed the whole message puts it right.
function on.message_added(conversation, event, changed)
  local message = event.message
  if message.role == 'user' then
    return hear(conversation, changed, message.text)
  end
  if message.role ~= 'assistant' then
    return
  end
  local shown = text_blocks(conversation.messages[message.id] or {})
  if (message.text or '') == '' then
    return align_tables(shown, changed)
  end
  if #shown == 0 then
    grow(conversation, { message = message.id, text = message.text }, changed, 'text')
  elseif #shown == 1 and Lines.text(shown[1].body) ~= message.text then
    Lines.replace(shown[1].body, message.text)
    record.touch(changed, shown[1])
  end
  align_tables(text_blocks(conversation.messages[message.id] or {}), changed)
end

function on.usage_updated(conversation, event)
  conversation.usage = event.turn_usage
  conversation.context = event.context or 0
  conversation.cost = tonumber(event.cost)
end

function on.notice(conversation, event, changed)
  record.notice(conversation, changed, event.level, event.text)
end

function on.agent_error(conversation, event, changed)
  record.notice(conversation, changed, 'error', error_text(event))
end

function on.persistence_error(conversation, event, changed)
  record.notice(conversation, changed, 'warning', 'Not stored: ' .. error_text(event))
end

function on.turn_cancel_requested(conversation)
  conversation.status = 'cancelling'
end

function on.turn_completed(conversation, event, changed)
  end_turn(conversation, changed, 'completed')
  conversation.usage = event.usage or conversation.usage
  if event.stop_reason == 'budget_exhausted' then
    record.notice(conversation, changed, 'warning', 'Stopped: the budget of this turn is used up.')
  end
end

function on.turn_cancelled(conversation, event, changed)
  end_turn(conversation, changed, 'cancelled')
  conversation.usage = event.usage or conversation.usage
  record.notice(conversation, changed, 'info', 'Cancelled.')
end

function on.turn_error(conversation, event, changed)
  end_turn(conversation, changed, 'failed')
  conversation.usage = event.usage or conversation.usage
  record.notice(conversation, changed, 'error', error_text(event))
end

-- Not of the server: the front-end's own news, in the same fold.

function on.local_answer(conversation, event, changed)
  if event.level ~= 'error' and conversation.status == 'error' then
    conversation.status = 'idle'
  end
  if event.text then
    record.add(conversation, changed, { kind = 'prompt', text = event.line, command = true })
    record.notice(conversation, changed, event.level, event.text)
  end
end

function on.local_server_ended(conversation, event, changed)
  if conversation.turn and conversation.turn.status == 'running' then
    end_turn(conversation, changed, 'lost')
    record.notice(conversation, changed, 'error', event.text)
  end
end

return M
