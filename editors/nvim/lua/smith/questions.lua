-- Answers to the questions of the agent.

local api = vim.api
local chats = require('smith.chats')
local log = require('smith.log')
local protocol = require('smith.protocol')
local session = require('smith.session')
local slash = require('smith.slash')

local M = {}

---@return smith.Session? one with an open question: of this buffer first
---@return string? id of its oldest question
local function asking()
  local all = session.all()
  table.insert(all, 1, session.here())
  for _, self in ipairs(all) do
    local conversation = self:conversation()
    if conversation and conversation.asking[1] then
      return self, conversation.asking[1]
    end
  end
end

---@param self smith.Session
---@param id string
---@param decision 'yes'|'no'|'always'|'quit'
---@param feedback string?
local function answer(self, id, decision, feedback)
  local argument = { id = id, decision = decision, feedback = feedback ~= '' and feedback or nil }
  self:command(protocol.command.answer, argument, function(err)
    if err then
      log.tell('not answered: ' .. slash.message_of(err), 'error')
    end
  end, chats.get(self).buf)
end

--- Answers the question under the cursor, else the oldest one that is open.
---@param decision 'yes'|'no'|'always'|'quit'
---@param feedback string?
function M.answer(decision, feedback)
  local chat = chats.of_buffer(api.nvim_get_current_buf())
  local id = chat and chat:question_at_cursor()
  local self = session.here()
  if not id then
    self, id = asking()
  end
  if not self or not id then
    log.tell('nothing is asked')
    return
  end
  answer(self, id, decision, feedback)
end

function M.yes()
  M.answer('yes')
end

function M.no(feedback)
  M.answer('no', feedback)
end

function M.always()
  M.answer('always')
end

return M
