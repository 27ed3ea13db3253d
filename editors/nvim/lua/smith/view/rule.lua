-- What is shown between the blocks and the typed part, as virtual lines: a rule, prompts that wait, what goes along.

local hint = require('smith.view.hint')
local label = require('smith.blocks.label')

local M = {}

local RULE = ('─'):rep(400)

---@param chat smith.Chat
---@return table[]
local function intro(chat)
  local lines = { { { '' } }, { { 'smith in ' .. vim.fn.fnamemodify(chat.root, ':~'), 'SmithDetail' } } }
  for _, line in ipairs(hint.lines(chat.draw.width)) do
    lines[#lines + 1] = { { line, 'SmithDetail' } }
  end
  return lines
end

--- Differs when the lines do.
---@param chat smith.Chat
---@return string
function M.key(chat)
  local queue = chat.conversation and chat.conversation.queue or {}
  local first = queue[1] and queue[1].id or ''
  local context = chat.context and chat.context.label or ''
  return ('%s %d %d %s %s'):format(chat.draw.rows > 0, chat.draw.width, #queue, first, context)
end

---@param chat smith.Chat
---@return table[] virtual lines
function M.lines(chat)
  local lines = {}
  if chat.draw.rows > 0 then
    lines[#lines + 1] = { { '' } }
    for _, waiting in ipairs(chat.conversation and chat.conversation.queue or {}) do
      lines[#lines + 1] = { { '  waits: ' .. label.cut(label.first_line(waiting.text), 70), 'SmithDetail' } }
    end
    lines[#lines + 1] = { { RULE, 'SmithRule' } }
  else
    lines = intro(chat)
  end
  if chat.context then
    lines[#lines + 1] = { { '  with ' .. chat.context.label, 'SmithDetail' } }
  end
  return lines
end

return M
