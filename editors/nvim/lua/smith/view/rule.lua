-- What is shown between the blocks and the typed part, as virtual lines: a rule, prompts that wait, what goes along.

local config = require('smith.config')
local label = require('smith.blocks.label')

local M = {}

local RULE = ('─'):rep(400)
local HELP = {
  { 'send', 'sends' },
  { 'send_insert', 'sends from insert mode' },
  { 'cancel', 'stops' },
  { 'help', 'shows the keys' },
}

---@param root string
---@return table[]
local function intro(root)
  local keys = config.values.keys
  local help = {}
  for _, pair in ipairs(HELP) do
    if keys[pair[1]] then
      help[#help + 1] = ('%s %s'):format(keys[pair[1]], pair[2])
    end
  end
  return {
    { { '' } },
    { { 'smith in ' .. vim.fn.fnamemodify(root, ':~'), 'SmithDetail' } },
    { { table.concat(help, ' · '), 'SmithDetail' } },
  }
end

--- Differs when the lines do.
---@param chat smith.Chat
---@return string
function M.key(chat)
  local queue = chat.conversation and chat.conversation.queue or {}
  local first = queue[1] and queue[1].id or ''
  local context = chat.context and chat.context.label or ''
  return ('%s %d %s %s'):format(chat.draw.rows > 0, #queue, first, context)
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
    lines = intro(chat.root)
  end
  if chat.context then
    lines[#lines + 1] = { { '  with ' .. chat.context.label, 'SmithDetail' } }
  end
  return lines
end

return M
