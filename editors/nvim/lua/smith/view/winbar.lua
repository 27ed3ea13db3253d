-- The small status of a chat: what the agent does, with which model, how full its context is.

local M = {}

local WORDS = {
  idle = 'ready',
  thinking = 'thinking',
  streaming = 'writing',
  tool = 'working',
  waiting = 'waits for you',
  cancelling = 'stopping',
  error = 'failed',
}

---@param tokens integer
---@return string
local function short(tokens)
  return tokens < 1000 and tostring(tokens) or ('%.1fk'):format(tokens / 1000)
end

--- One line about a session, without any markup.
---@param link 'none'|'starting'|'ready'|'ended' state of the connection
---@param conversation smith.Conversation?
---@return string
function M.text(link, conversation)
  if link ~= 'ready' then
    return link == 'starting' and 'starting' or 'not running'
  elseif not conversation then
    return WORDS.idle
  end
  local parts = { WORDS[conversation.status] or conversation.status }
  if conversation.model ~= '' then
    parts[#parts + 1] = conversation.model
  end
  if conversation.context > 0 then
    parts[#parts + 1] = short(conversation.context) .. ' tokens'
  end
  if #conversation.queue > 0 then
    parts[#parts + 1] = ('%d waiting'):format(#conversation.queue)
  end
  if conversation.note then
    parts[#parts + 1] = conversation.note
  end
  return table.concat(parts, ' · ')
end

--- Shows `text` above every window on `buf`; windows that show it already are left alone.
---@param buf integer
---@param text string
function M.show(buf, text)
  local shown = text:gsub('%%', '%%%%'):gsub('%s+', ' ')
  -- Where there is no room, what comes first stays.
  local bar = ' smith · ' .. shown:gsub(' · ', '%%< · ', 1)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].winbar ~= bar then
      vim.wo[win][0].winbar = bar
    end
  end
end

return M
