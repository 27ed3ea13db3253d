-- How to send, for a person who has not sent anything yet: above an empty chat, else in the empty prompt.

local api = vim.api
local config = require('smith.config')

local M = {}

local SPACE = api.nvim_create_namespace('smith.hint')
local JOIN = ' · '
local HELP = {
  { 'send_insert', 'sends' },
  { 'send', 'sends in normal mode' },
  { 'cancel', 'stops' },
  { 'help', 'shows the keys' },
}

---@param left_out table<string, true>? keys that need not be told
---@return string[] the most useful first
local function parts(left_out)
  local all = {}
  for _, pair in ipairs(HELP) do
    local key = config.values.keys[pair[1]]
    if key and not (left_out and left_out[pair[1]]) then
      all[#all + 1] = ('%s %s'):format(key, pair[2])
    end
  end
  return all
end

--- All of it, in as many lines as it takes.
---@param width integer
---@return string[]
function M.lines(width)
  local lines = {}
  for _, part in ipairs(parts()) do
    local last = lines[#lines]
    local longer = last and last .. JOIN .. part
    if longer and vim.fn.strdisplaywidth(longer) <= width then
      lines[#lines] = longer
    else
      lines[#lines + 1] = part
    end
  end
  return lines
end

-- As much of it as one line has room for; that the help is there is told before the rest.
---@param width integer
---@return string
local function in_one_line(width)
  for _, left_out in ipairs({ {}, { send = true }, { send = true, cancel = true } }) do
    local line = table.concat(parts(left_out), JOIN)
    if vim.fn.strdisplaywidth(line) <= width then
      return line
    end
  end
  return parts()[1] or ''
end

--- Shows a line of it in the empty prompt of a chat that has text above, or takes it away.
---@param chat smith.Chat
function M.show(chat)
  local wanted = not chat.sent and chat.draw.rows > 0 and chat.input:text() == ''
  if not wanted and not chat.hint then
    return
  end
  api.nvim_buf_clear_namespace(chat.buf, SPACE, 0, -1)
  chat.hint = wanted
  local row = chat.draw.rows
  if wanted and row < api.nvim_buf_line_count(chat.buf) then
    local text = { { in_one_line(chat.draw.width), 'SmithDetail' } }
    api.nvim_buf_set_extmark(chat.buf, SPACE, row, 0, { virt_text = text, virt_text_pos = 'overlay' })
  end
end

return M
