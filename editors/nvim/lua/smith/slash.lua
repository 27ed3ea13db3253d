-- Commands of the server, typed as a line with a slash: sent, and their answers shown where they belong.

local pager = require('smith.view.pager')
local protocol = require('smith.protocol')

local M = {}

---@param err table?
---@return string?
function M.message_of(err)
  if not err then
    return nil
  end
  local data = type(err.data) == 'table' and err.data or {}
  return data.message or err.message or 'the server gave an error'
end

---@param self smith.Session
---@param line string
---@param result table
local function show(self, line, result)
  local failed = type(result.error) == 'table' and result.error.message
  local text = failed or result.text
  self:take({
    kind = 'local_answer',
    line = line,
    level = failed and 'error' or 'info',
    text = type(text) == 'string' and text or nil,
  })
  if type(result.ui) == 'table' and result.ui.type == 'pager' then
    pager.open(result.ui)
  end
end

---@param result table
---@return string? id of the conversation that the command went to
local function destination(result)
  local failed = type(result.error) == 'table'
  local id = not failed and type(result.data) == 'table' and result.data.conversation
  return type(id) == 'string' and id or nil
end

---@param result table
---@return boolean
local function leaves(result)
  return type(result.data) == 'table' and result.data.quit == true
end

--- Runs `line`. Where it leads to another conversation, that one is shown first and the answer stands in it.
---@param self smith.Session
---@param line string
---@param buf integer
---@param leave fun() closes the chat
function M.run(self, line, buf, leave)
  local argument = { line = line, conversation = self:shown_id() }
  self:command(protocol.command.slash, argument, function(err, result)
    local message = M.message_of(err)
    local answer = message and { error = { message = message } } or result or {}
    local id = destination(answer)
    if not id then
      show(self, line, answer)
      return leaves(answer) and leave()
    end
    self:go_to(id, function()
      show(self, line, answer)
    end)
  end, buf)
end

return M
