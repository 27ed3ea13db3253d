-- What the person types: the lines of a chat buffer below the last block, and the prompts sent before.

local api = vim.api

local M = {}

---@class smith.Input
---@field buf integer
---@field first fun(): integer row where it begins
---@field past string[] prompts sent, oldest first
---@field at integer? place in `past` while going through it
---@field draft string what was typed before that
local Input = {}
Input.__index = Input

---@param buf integer
---@param first fun(): integer
---@return smith.Input
function M.new(buf, first)
  return setmetatable({ buf = buf, first = first, past = {}, at = nil, draft = '' }, Input)
end

--- What a line that was typed says as a prompt: of two slashes at its beginning the first only says that it is none
--- of the commands.
---@param line string
---@return string
function M.spoken(line)
  return line:sub(1, 2) == '//' and line:sub(2) or line
end

--- The other way round: what is typed to say `prompt`.
---@param prompt string
---@return string
function M.typed(prompt)
  return prompt:sub(1, 1) == '/' and '/' .. prompt or prompt
end

---@return string
function Input:text()
  return table.concat(api.nvim_buf_get_lines(self.buf, self.first(), -1, false), '\n')
end

---@param text string
function Input:set(text)
  local lines = vim.split(text, '\n', { plain = true })
  vim.bo[self.buf].modifiable = true
  api.nvim_buf_set_lines(self.buf, self.first(), -1, false, lines)
end

--- Puts `text` there; typing goes on behind it.
---@param text string
function Input:put(text)
  self:set(text)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if api.nvim_win_get_cursor(win)[1] > self.first() then
      self:go_to_end(win)
    end
  end
end

--- Puts the prompt `text` there unless something is being typed.
---@param text string
function Input:offer(text)
  if self:text() == '' then
    self:put(M.typed(text))
  end
end

--- Adds a prompt to the past.
---@param text string
function Input:remember(text)
  if text ~= '' and self.past[#self.past] ~= text then
    self.past[#self.past + 1] = text
  end
  self.at = nil
end

--- Takes the prompts of a conversation as the past, unless there is one already.
---@param conversation smith.Conversation?
function Input:learn(conversation)
  if #self.past > 0 or not conversation then
    return
  end
  for _, block in ipairs(conversation.blocks) do
    if block.kind == 'prompt' then
      self:remember(block.command and block.text or M.typed(block.text))
    end
  end
end

--- Takes what is typed away and into the past.
---@return string
function Input:take()
  local text = vim.trim(self:text())
  self:set('')
  self:remember(text)
  return text
end

---@param win integer a window on the buffer
function Input:go_to_end(win)
  local last = api.nvim_buf_line_count(self.buf)
  local line = api.nvim_buf_get_lines(self.buf, last - 1, last, true)[1]
  api.nvim_win_set_cursor(win, { last, #line })
end

--- Goes through the past by `step`; what was being typed comes back after the newest.
---@param step -1|1
function Input:go_through(step)
  local at = (self.at or #self.past + 1) + step
  if at < 1 or at > #self.past + 1 then
    return
  end
  if not self.at then
    self.draft = self:text()
  end
  self.at = at <= #self.past and at or nil
  self:set(self.past[at] or self.draft)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    self:go_to_end(win)
  end
end

--- Whether the cursor of a window on the buffer stands in what is typed.
---@param win integer? the current one without it
---@return boolean
function Input:has_cursor(win)
  return api.nvim_win_get_cursor(win or 0)[1] > self.first()
end

--- Whether the cursor is on the line of it where `step` leads out.
---@param step -1|1
---@return boolean
function Input:at_edge(step)
  local row = api.nvim_win_get_cursor(0)[1]
  return row == (step < 0 and self.first() + 1 or api.nvim_buf_line_count(self.buf))
end

return M
