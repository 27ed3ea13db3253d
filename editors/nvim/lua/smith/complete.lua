-- Completion of a command line in the prompt: the server knows what fits, the menu of the editor shows it.

local api = vim.api
local protocol = require('smith.protocol')

local M = {}

---@param chat smith.Chat
---@return string? line with the cursor in it, when it is a command
---@return integer? characters before the cursor
local function place(chat)
  local row, column = unpack(api.nvim_win_get_cursor(0))
  if api.nvim_get_current_buf() ~= chat.buf or row ~= chat.input.first() + 1 then
    return nil
  end
  local line = api.nvim_get_current_line()
  if line:sub(1, 1) ~= '/' or line:sub(1, 2) == '//' then
    return nil
  end
  return line, vim.fn.strchars(line:sub(1, column))
end

---@param line string
---@param found table answer of the server
local function show(line, found)
  local items = {}
  for _, each in ipairs(found.candidates or {}) do
    items[#items + 1] = { word = each.text, abbr = vim.trim(each.text), menu = each.detail, icase = 0 }
  end
  if #items > 0 then
    vim.fn.complete(vim.fn.byteidx(line, found.start) + 1, items)
  end
end

--- Whether there is something to complete where the cursor is.
---@param chat smith.Chat
---@return boolean
function M.is_due(chat)
  return place(chat) ~= nil
end

--- Asks what fits at the cursor and shows it, unless the person has typed on meanwhile.
---@param self smith.Session
---@param chat smith.Chat
function M.run(self, chat)
  local line, cursor = place(chat)
  if not line then
    return
  end
  self:command(protocol.command.complete, { line = line, cursor = cursor }, function(err, found)
    local now, at = place(chat)
    local is_typing = api.nvim_get_mode().mode:sub(1, 1) == 'i'
    if not err and type(found) == 'table' and is_typing and now == line and at == cursor then
      show(line, found)
    end
  end, chat.buf)
end

return M
