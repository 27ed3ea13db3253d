-- Tool calls and questions about them, of the turn itself and of its children.

local record = require('smith.state.changed')

local M = { of_turn = {}, of_child = {} }

local on = M.of_turn
local child = M.of_child

local PROGRESS_BYTES = 16384

---@param conversation smith.Conversation
---@param id string
local function drop_question(conversation, id)
  for i, asked in ipairs(conversation.asking) do
    if asked == id then
      table.remove(conversation.asking, i)
      return
    end
  end
end

function on.tool_call_started(conversation, event, changed)
  conversation.status = 'tool'
  conversation.calls[event.call_id] = record.add(conversation, changed, {
    kind = 'call',
    id = event.call_id,
    name = event.name,
    arguments = event.arguments,
    title = event.title or '',
    status = 'running',
    output = '',
    below = '',
  })
end

---@param text string
---@return string as much of its end as is kept
local function tail(text)
  return text:sub(-PROGRESS_BYTES)
end

function on.tool_call_progress(conversation, event, changed)
  local call = conversation.calls[event.call_id]
  if call then
    call.output = tail(call.output .. event.text)
    record.touch(changed, call)
  end
end

function on.tool_call_finished(conversation, event, changed)
  local call = conversation.calls[event.call_id]
  if not call then
    on.tool_call_started(conversation, vim.tbl_extend('keep', { arguments = '' }, event), changed)
    call = conversation.calls[event.call_id]
  end
  call.status = event.ok and 'ok' or 'failed'
  call.summary = event.summary
  call.content = event.content or ''
  call.diff = event.diff or ''
  call.duration_ms = event.duration_ms or 0
  conversation.note = nil
  conversation.status = #conversation.asking > 0 and 'waiting' or 'thinking'
  record.touch(changed, call)
end

function on.approval_asked(conversation, event, changed)
  conversation.status = 'waiting'
  conversation.asking[#conversation.asking + 1] = event.id
  conversation.approvals[event.id] = record.add(conversation, changed, {
    kind = 'approval',
    id = event.id,
    name = event.name,
    title = event.title,
    reason = event.reason or '',
    diff = event.diff or '',
    saves = event.saves or {},
    role = event.role,
  })
end

function on.approval_answered(conversation, event, changed)
  local approval = conversation.approvals[event.id]
  drop_question(conversation, event.id)
  if approval then
    approval.decision = event.decision
    record.touch(changed, approval)
    conversation.approvals[event.id] = nil
  end
  conversation.status = #conversation.asking > 0 and 'waiting' or 'tool'
end

function on.edit_waiting(conversation, event)
  conversation.note = ('an edit of %s waits for you: %s'):format(event.path, event.reason)
end

child.approval_asked = on.approval_asked
child.approval_answered = on.approval_answered
child.edit_waiting = on.edit_waiting

--- Finds the call of the conversation that the child of `event` works under, however deep.
---@param conversation smith.Conversation
---@param event table
function M.place(conversation, event)
  local deeper = (event.parent or '') ~= ''
  local call = deeper and conversation.jobs[event.parent] or not deeper and conversation.calls[event.call] or nil
  conversation.jobs[event.job] = call or conversation.jobs[event.job]
end

function child.tool_call_started(conversation, event, changed)
  local call = conversation.jobs[event.job]
  if call then
    local line = vim.trim(('%s: %s %s'):format(event.role or 'child', event.name, event.title or '')) .. '\n'
    call.output, call.below = tail(call.output .. line), tail(call.below .. line)
    record.touch(changed, call)
  end
end

return M
