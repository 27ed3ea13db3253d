-- The small status of a chat: what the agent does, with which model, how full its context is.

local label = require('smith.blocks.label')

local M = {}

local NAME = ' smith · '
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

---@param cost number? US dollars
---@return string?
local function dollars(cost)
  return cost and cost > 0 and (cost < 0.1 and '$%.4f' or '$%.2f'):format(cost) or nil
end

---@class smith.StatusPart
---@field text string
---@field rank integer what has the highest goes first where there is no room

---@param conversation smith.Conversation
---@return smith.StatusPart[]
local function parts_about(conversation)
  local parts = { { text = WORDS[conversation.status] or conversation.status, rank = 1 } }
  local function add(text, rank)
    parts[#parts + 1] = text and { text = text, rank = rank }
  end
  add(conversation.model ~= '' and conversation.model or nil, 5)
  add(conversation.context > 0 and short(conversation.context) .. ' tokens' or nil, 4)
  add(dollars(conversation.cost), 6)
  add(conversation.holder and 'read-only' or nil, 1)
  add(#conversation.queue > 0 and ('%d waiting'):format(#conversation.queue) or nil, 2)
  add(conversation.note, 3)
  return parts
end

---@param link 'none'|'starting'|'ready'|'ended' state of the connection
---@param conversation smith.Conversation?
---@return smith.StatusPart[]
local function parts_of(link, conversation)
  if link ~= 'ready' then
    return { { text = link == 'starting' and 'starting' or 'not running', rank = 1 } }
  end
  return conversation and parts_about(conversation) or { { text = WORDS.idle, rank = 1 } }
end

---@param parts smith.StatusPart[]
---@return string
local function joined(parts)
  local texts = vim.tbl_map(function(part)
    return (part.text:gsub('%s+', ' '))
  end, parts)
  return table.concat(texts, ' · ')
end

---@param parts smith.StatusPart[]
---@return integer index of the part that matters least
local function least(parts)
  local index = 1
  for i, part in ipairs(parts) do
    index = part.rank > parts[index].rank and i or index
  end
  return index
end

---@param parts smith.StatusPart[]
---@param room integer cells
---@return string as many whole parts as there is room for
local function fitted(parts, room)
  local left = vim.list_slice(parts)
  while #left > 1 and vim.fn.strdisplaywidth(joined(left)) > room do
    table.remove(left, least(left))
  end
  return label.cut(joined(left), room)
end

--- One line about a session, without any markup.
---@param link 'none'|'starting'|'ready'|'ended' state of the connection
---@param conversation smith.Conversation?
---@return string
function M.text(link, conversation)
  return joined(parts_of(link, conversation))
end

--- Shows it above every window on `buf`, as much as each has room for; windows that show it already are left alone.
---@param buf integer
---@param link 'none'|'starting'|'ready'|'ended' state of the connection
---@param conversation smith.Conversation?
function M.show(buf, link, conversation)
  local parts = parts_of(link, conversation)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local room = vim.api.nvim_win_get_width(win) - vim.fn.strdisplaywidth(NAME)
    local bar = NAME .. fitted(parts, room):gsub('%%', '%%%%')
    if vim.wo[win].winbar ~= bar then
      vim.wo[win][0].winbar = bar
    end
  end
end

return M
