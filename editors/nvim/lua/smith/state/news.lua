-- What goes on beside the answer, in words for one quiet line. Every front-end says the same.

local M = {}

M.COMPACTING = 'compacting the conversation …'
M.NOT_COMPACTED = 'the conversation was not compacted'
M.RELEASED = 'Nobody else has this conversation open any more.'
M.DELETED = 'This conversation was deleted.'

local NO_PLAN = 'nothing is planned any more'
local BOX = { pending = '[ ]', in_progress = '[>]', completed = '[x]' }

---@param count integer
---@return string a number of tokens in few characters
local function tokens(count)
  if count < 1000 then
    return tostring(count)
  end
  return count < 1000000 and ('%.1fk'):format(count / 1000) or ('%.1fM'):format(count / 1000000)
end

---@param event table `response_continued`
---@return string
function M.continued(event)
  local calls = event.dropped and '; its calls were dropped, the limit may have cut them' or ''
  local why = event.paused and 'the provider paused the answer' or 'the answer reached the output limit'
  return ('%s; going on (%d)%s'):format(why, event.attempt, calls)
end

---@param event table `llm_retry`
---@param why string
---@return string why a request goes out again, and when
function M.retried(event, why)
  return ('%s; attempt %d in %g s'):format((why:gsub('%.$', '')), event.attempt, (event.delay_ms or 0) / 1000)
end

---@param event table `context_compacted`
---@return string
function M.compacted(event)
  if #event.steps == 0 then
    return M.NOT_COMPACTED
  end
  local steps = table.concat(event.steps, ', ')
  return ('compacted from %s to %s tokens (%s)'):format(tokens(event.before), tokens(event.after), steps)
end

---@param todos {content: string, status: string}[]
---@return string a plan as lines under a head
function M.plan(todos)
  local lines = { 'plan' }
  for _, todo in ipairs(todos) do
    lines[#lines + 1] = ('%s %s'):format(BOX[todo.status] or BOX.pending, todo.content)
  end
  return #todos > 0 and table.concat(lines, '\n') or NO_PLAN
end

---@param event table `job_started`
---@return string
function M.job_started(event)
  return ('%s runs in the background: %s'):format(event.id, vim.trim(event.command):match('^[^\n]*'))
end

---@param event table
---@return string
local function end_of_job(event)
  if event.state == 'timed_out' then
    return 'ran out of time'
  elseif event.state == 'killed' then
    return 'was killed'
  elseif type(event.exit_code) ~= 'number' then
    return 'was ended by a signal'
  end
  return ('ended with exit code %d'):format(event.exit_code)
end

---@param event table `job_ended`
---@return string
function M.job_ended(event)
  return ('%s %s (%.1f s)'):format(event.id, end_of_job(event), event.seconds or 0)
end

return M
