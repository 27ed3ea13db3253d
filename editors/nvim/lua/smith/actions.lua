-- What a person can do, by name. Commands and maps only point here.

local api = vim.api
local chats = require('smith.chats')
local config = require('smith.config')
local context = require('smith.context')
local help = require('smith.help')
local input = require('smith.view.input')
local layout = require('smith.view.layout')
local log = require('smith.log')
local protocol = require('smith.protocol')
local questions = require('smith.questions')
local session = require('smith.session')
local slash = require('smith.slash')

local M = {}

local here = session.here

-- What was typed is never lost: it goes back where it came from when it did not arrive.
---@param chat smith.Chat
---@param text string
---@param message string
local function give_back(chat, self, text, message)
  local turn = self:conversation() and self:conversation().turn
  if not (turn and turn.text == input.spoken(text)) and chat.input:text() == '' then
    chat.input:put(text)
  end
  self:take({ kind = 'agent_error', error = { message = message } })
end

---@param self smith.Session
---@param chat smith.Chat
---@param text string
---@param extra smith.Context?
local function start_turn(self, chat, text, extra)
  local connection, problem = self:start()
  if not connection then
    return give_back(chat, self, text, problem or '')
  end
  local argument = { text = input.spoken(text), conversation = self:shown_id() }
  argument.context = extra and context.on_wire(extra, connection:encoding()) or nil
  self.asked = self.asked + 1
  self:command(protocol.command.turn, argument, function(err, result)
    self.asked = self.asked - 1
    local message = slash.message_of(err)
    if message then
      give_back(chat, self, text, message)
    elseif type(result) == 'table' and type(result.error) == 'table' then
      self:take({ kind = 'agent_error', error = result.error })
    end
  end, chat.buf)
end

--- Sends `text` to the agent of `self`: a line that begins with one slash is a command.
---@param self smith.Session
---@param text string
---@param extra smith.Context?
local function submit(self, text, extra)
  local chat = chats.get(self)
  chat.sent = true
  if text:sub(1, 1) == '/' and text:sub(1, 2) ~= '//' then
    slash.run(self, text, chat.buf, function()
      layout.close(chat.buf)
    end)
  else
    start_turn(self, chat, text, extra)
  end
end

--- Opens the chat of the project and goes to its prompt.
function M.open()
  local self = here()
  local chat = chats.get(self)
  local win = layout.open(chat.buf, true)
  chat.input:go_to_end(win)
  local _, problem = self:start()
  if problem then
    log.tell(problem, 'error')
  end
  if config.values.start_insert then
    vim.cmd('startinsert!')
  end
end

--- Completes the command that stands in the prompt.
function M.complete()
  local self = here()
  require('smith.complete').run(self, chats.get(self))
end

function M.close()
  layout.close(chats.get(here()).buf)
end

function M.toggle()
  if layout.window(chats.get(here()).buf) then
    M.close()
  else
    M.open()
  end
end

--- Sends what stands in the prompt of the chat.
function M.send_prompt()
  local self = here()
  local chat = chats.get(self)
  local text = chat.input:take()
  if text == '' then
    return
  end
  local extra = chat.context or chats.file_beside(self)
  chat.context = nil
  submit(self, text, extra)
end

--- Sends `text` with the file of the current buffer, without going to the chat.
---@param text string
---@param extra smith.Context?
function M.send(text, extra)
  local self = here()
  local chat = chats.get(self)
  layout.open(chat.buf, false)
  chat.input:remember(text)
  submit(self, text, extra or context.of_buffer(api.nvim_get_current_buf()) or chats.file_beside(self))
end

--- Says something to the turn that runs: it is heard with the next request to the model.
---@param text string
function M.steer(text)
  local self = here()
  if text == '' then
    log.tell('there is nothing to say')
    return
  end
  local argument = { text = text, conversation = self:shown_id() }
  self:command(protocol.command.steer, argument, function(err)
    if err then
      give_back(chats.get(self), self, text, slash.message_of(err))
    end
  end, chats.get(self).buf)
end

---@param extra smith.Context?
local function attach(extra)
  if not extra then
    log.tell('this buffer visits no file', 'warn')
    return
  end
  chats.get(here()).context = extra
  M.open()
  chats.get(here()):refresh()
end

--- Lets the file of the current buffer go with the next prompt, and goes to the prompt.
function M.attach_buffer()
  attach(context.of_buffer(api.nvim_get_current_buf()))
end

--- The same with what is selected in visual mode.
function M.attach_selection()
  local mode = api.nvim_get_mode().mode
  local buf = api.nvim_get_current_buf()
  local extra = context.of_region(buf, vim.fn.getpos('v'), vim.fn.getpos('.'), mode)
  vim.cmd('normal! \27')
  attach(extra)
end

--- The same with lines.
---@param first integer
---@param last integer
function M.attach_lines(first, last)
  attach(context.of_lines(api.nvim_get_current_buf(), first, last))
end

---@return smith.Session[] with work to stop: the one of this buffer, else all others
local function running()
  local self = here()
  if self:is_busy() then
    return { self }
  end
  return vim.tbl_filter(function(other)
    return other:is_busy()
  end, session.all())
end

---@param self smith.Session
local function cancel(self)
  local conversation = self:conversation()
  local argument = { conversation = conversation and conversation.id or nil }
  self:command(protocol.command.cancel, argument, function(err, result)
    local unknown = type(result) == 'table' and result.unknown or {}
    if err then
      log.tell('not cancelled: ' .. slash.message_of(err), 'error')
    elseif type(unknown) == 'table' and #unknown > 0 then
      log.tell('cancelled; what became of some edits is not known, look at them', 'warn')
    end
  end, chats.get(self).buf)
end

--- Stops the running turn.
function M.cancel()
  local selves = running()
  if #selves == 0 then
    log.tell('nothing is running')
  end
  for _, self in ipairs(selves) do
    cancel(self)
  end
end

M.answer, M.yes, M.no, M.always = questions.answer, questions.yes, questions.no, questions.always

--- Does something with the conversation that is shown, and shows the one that this leads to.
---@param op 'fork'|'delete'|'take_over'
function M.conversation(op)
  local self = here()
  local shown = self:conversation()
  if not shown then
    log.tell('there is no conversation')
    return
  end
  self:command(protocol.command.conversations, { op = op, conversation = shown.id }, function(err, result)
    if err then
      log.tell(slash.message_of(err), 'error')
    elseif result.conversation then
      self:go_to(result.conversation, function() end)
    end
  end, chats.get(self).buf)
end

--- Ends the server of the project; it starts again when it is needed.
function M.stop()
  local self = here()
  if self.connection then
    self.connection:stop()
  end
end

function M.help()
  help.open('smith-keys')
end

--- One line for a status line of the person's own.
---@return string
function M.status()
  return chats.status(here())
end

return M
