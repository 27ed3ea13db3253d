-- What goes on beside the answer: compactions, the plan, commands in the background.

local news = require('smith.state.news')
local record = require('smith.state.changed')

local M = {}

local on = M

function on.response_continued(conversation, event, changed)
  record.notice(conversation, changed, 'quiet', news.continued(event))
end

function on.compaction_started(conversation, _, changed)
  conversation.compacting =
    record.add(conversation, changed, { kind = 'notice', level = 'quiet', text = news.COMPACTING })
end

function on.context_compacted(conversation, event, changed)
  if not record.end_compacting(conversation, changed, news.compacted(event)) then
    record.notice(conversation, changed, 'quiet', news.compacted(event))
  end
end

function on.todos_updated(conversation, event, changed)
  if not vim.deep_equal(event.todos, conversation.plan) then
    conversation.plan = event.todos
    record.notice(conversation, changed, 'quiet', news.plan(event.todos))
  end
end

function on.job_started(conversation, event, changed)
  record.notice(conversation, changed, 'quiet', news.job_started(event))
end

function on.job_ended(conversation, event, changed)
  record.notice(conversation, changed, 'quiet', news.job_ended(event))
end

return M
