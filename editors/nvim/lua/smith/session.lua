-- One project root: its connection, what its events add up to, and who wants to know when that changes.

local api = vim.api
local attach = require('smith.attach')
local buffers = require('smith.buffers')
local changes = require('smith.changes')
local client = require('smith.client')
local edit = require('smith.edit')
local log = require('smith.log')
local protocol = require('smith.protocol')
local reload = require('smith.reload')
local sequence = require('smith.sequence')
local state = require('smith.state')

local M = {}

---@class smith.Session
---@field root string
---@field state smith.State
---@field connection smith.Connection?
---@field sequence smith.Sequence
---@field changes smith.Changes?
---@field edits smith.Edits?
---@field asked integer prompts that the server has not answered
---@field touched table<integer, true> buffers that the running turn has changed
---@field listeners fun(session: smith.Session, changed: smith.Changed?)[]
---@field followed boolean? a chat follows it
local Session = {}
Session.__index = Session

---@type table<string, smith.Session>
local sessions = {}

--- The project that a path belongs to: the nearest folder above with a `.git` folder or file.
---@param path string
---@return string?
local function project_of(path)
  local found = vim.fs.find('.git', { upward = true, path = vim.fs.dirname(path) })[1]
  return found and vim.fs.dirname(found)
end

--- The root for work that starts in `buf`.
---@param buf integer
---@return string
function M.root_of(buf)
  local known = vim.b[buf].smith_root
  if known then
    return known
  end
  local cwd = vim.fn.getcwd()
  local start = buffers.is_file(buf) and api.nvim_buf_get_name(buf) or vim.fs.joinpath(cwd, '.')
  return buffers.real_path(project_of(start) or cwd)
end

---@param root string
---@return smith.Session
function M.get(root)
  local known = sessions[root]
  if known then
    return known
  end
  local self = setmetatable({ root = root, state = state.new(), asked = 0, touched = {}, listeners = {} }, Session)
  self.sequence = sequence.new(self)
  sessions[root] = self
  return self
end

---@return smith.Session of the current buffer
function M.here()
  return M.get(M.root_of(api.nvim_get_current_buf()))
end

---@return smith.Session[]
function M.all()
  return vim.tbl_values(sessions)
end

--- `listener` is called after every change; without `changed` when all may be different.
---@param listener fun(session: smith.Session, changed: smith.Changed?)
function Session:on_change(listener)
  self.listeners[#self.listeners + 1] = listener
end

---@param changed smith.Changed?
function Session:tell(changed)
  for _, listener in ipairs(self.listeners) do
    listener(self, changed)
  end
end

---@return smith.Conversation? the one that is shown
function Session:conversation()
  return state.shown(self.state)
end

--- The id of the conversation that is shown; nil where the server has none of that name.
---@return string?
function Session:shown_id()
  local shown = self:conversation()
  return shown and not shown.gone and shown.id ~= '' and shown.id or nil
end

---@return boolean
function Session:is_running()
  local conversation = self:conversation()
  return conversation ~= nil and conversation.turn ~= nil and conversation.turn.status == 'running'
end

---@return boolean whether there is something to cancel
function Session:is_busy()
  return self.asked > 0 or self:is_running()
end

---@return 'none'|'starting'|'ready'|'ended'
function Session:link()
  return self.connection and self.connection.state or 'none'
end

--- Takes in an event of the server, or one of our own (`local_...`).
---@param event table
function Session:take(event)
  local changed = state.reduce(self.state, event)
  if event.kind == 'files_changed' then
    reload.take_in(self.root, event.paths)
  end
  if not self:is_running() then
    self.touched = {}
  end
  self:tell(changed)
  local rewritten = event.change == 'rewritten' and changed.conversation == self:conversation()
  if changed.switched and event.resumed or rewritten then
    self.sequence:load()
  end
end

--- Replaces a conversation by its stored events and shows it.
---@param id string
---@param events table[]
function Session:load(id, events)
  state.load(self.state, id, events)
  self:tell(nil)
end

--- Shows conversation `id` as the server has it, then calls `done`.
---@param id string
---@param done fun()
function Session:go_to(id, done)
  state.show(self.state, id)
  self.sequence:load(done)
end

---@param self smith.Session
---@return table<string, fun(params: table): table?>
local function served(self)
  local method = protocol.method
  return {
    [method.apply_edit] = function(params)
      return self.edits:handle(params)
    end,
    [method.withdraw_edit] = function(params)
      return self.edits:withdraw(params)
    end,
    [method.read_buffer] = buffers.read,
    [method.save_buffers] = buffers.save,
  }
end

---@param self smith.Session
local function became_ready(self)
  local experimental = self.connection:capabilities().experimental or {}
  if not (experimental.smith and experimental.smith.protocol) then
    log.tell('the server does not speak the protocol of smith; see :checkhealth smith', 'error')
  end
  self.sequence:load()
  self:tell(nil)
end

---@param self smith.Session
---@param reason string
local function ended(self, reason)
  local wanted = self.connection and self.connection.stopping
  self.connection = nil
  self.edits:close()
  self.sequence:restart()
  if not wanted then
    local text = reason .. '; it starts again with your next prompt'
    self:take({ kind = 'local_server_ended', text = reason })
    log.tell(text, 'error')
  end
  self:tell(nil)
end

-- A new connection knows nothing of the changes of the one before.
---@param self smith.Session
local function prepare_edits(self)
  local function notify(method, params)
    if self.connection then
      self.connection:notify(method, params)
    end
  end
  self.changes = changes.new(notify)
  self.edits = edit.new({
    notify = notify,
    changes = self.changes,
    encoding = function()
      return self.connection:encoding()
    end,
    applied = function(buf)
      if self:is_running() then
        self.touched[buf] = true
        self:tell({ blocks = {}, removed = {}, switched = false, conversation = self:conversation() })
      end
    end,
  })
end

---@param self smith.Session
---@return smith.Listener
local function listener_of(self)
  return {
    event = function(event)
      self.sequence:take(event)
    end,
    ready = function()
      became_ready(self)
    end,
    ended = function(reason)
      ended(self, reason)
    end,
    serve = served(self),
  }
end

-- An undo of the person is seen where the text changes.
local function watch_changes()
  api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
    group = api.nvim_create_augroup('smith.look', { clear = true }),
    callback = function(event)
      M.look(event.buf)
    end,
  })
end

--- Starts the server unless it runs.
---@return smith.Connection?
---@return string? problem
function Session:start()
  if self.connection then
    return self.connection
  end
  prepare_edits(self)
  local connection, problem = client.start(self.root, listener_of(self))
  self.connection = connection
  if connection then
    attach.start(connection)
    watch_changes()
    self:tell(nil)
  end
  return connection, problem
end

--- Runs a command of the server, which is started if need be. `answer` always comes, an error when the server is gone.
---@param command string
---@param argument table
---@param answer fun(err: table?, result: any)
---@param buf integer
function Session:command(command, argument, answer, buf)
  local connection, problem = self:start()
  if not connection then
    return answer({ message = problem }, nil)
  end
  self.changes:look_all()
  connection:command(command, argument, answer, buf)
end

--- Looks what became of the agent's changes in `buf`.
---@param buf integer
function M.look(buf)
  for _, session in pairs(sessions) do
    if session.changes and session.connection then
      session.changes:look(buf)
    end
  end
end

return M
