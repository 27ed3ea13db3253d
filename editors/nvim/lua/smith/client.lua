-- One server process per project root, held by Neovim's own LSP client. Knows the wire, not what it carries.

local config = require('smith.config')
local log = require('smith.log')
local protocol = require('smith.protocol')
local wire = require('smith.wire')

local M = {}

local EXECUTE = 'workspace/executeCommand'

---@class smith.Listener what a connection tells and whom it asks
---@field event fun(event: table)
---@field ready fun()
---@field ended fun(reason: string)
---@field serve table<string, fun(params: table): table?> by method; requests must be answered with a table

---@class smith.Connection
---@field root string
---@field client vim.lsp.Client?
---@field state 'starting'|'ready'|'ended'
---@field stopping boolean
---@field listener smith.Listener
---@field queued fun()[] what waits for the server to be ready
---@field open table<integer, fun(err: table?, result: any)> requests without an answer
---@field next_id integer
local Connection = {}
Connection.__index = Connection

---@type table<string, smith.Connection>
local connections = {}

---@param method string
---@param serve fun(params: table): table?
local function handler_of(method, serve)
  return function(_, params)
    local ok, result = xpcall(serve, debug.traceback, params)
    if ok then
      return result
    end
    log.write('error', ('%s: %s'):format(method, result))
    local message = tostring(result):match('^[^\n]*')
    if method == protocol.method.apply_edit then
      return { status = 'failed', message = message }
    end
    return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.InternalError, message)
  end
end

---@param self smith.Connection
---@return table<string, function>
local function handlers_of(self)
  local handlers = {}
  for method, serve in pairs(self.listener.serve) do
    handlers[method] = handler_of(method, serve)
  end
  handlers[protocol.method.event] = handler_of(protocol.method.event, self.listener.event)
  return handlers
end

---@param self smith.Connection
local function became_ready(self)
  if self.state ~= 'starting' then
    return
  end
  self.state = 'ready'
  local queued = self.queued
  self.queued = {}
  self.listener.ready()
  for _, send in ipairs(queued) do
    send()
  end
end

---@param self smith.Connection
---@param reason string
local function ended(self, reason)
  if self.state == 'ended' then
    return
  end
  self.state = 'ended'
  if connections[self.root] == self then
    connections[self.root] = nil
  end
  local open = self.open
  self.open, self.queued = {}, {}
  for _, answer in pairs(open) do
    answer({ message = reason })
  end
  self.listener.ended(reason)
end

---@param code integer
---@param signal integer
---@return string
local function reason_of(code, signal)
  return signal ~= 0 and ('the server was ended by signal %d'):format(signal)
    or ('the server ended with exit code %d'):format(code)
end

-- Neovim's own messages about a broken connection name its LSP log and may not fit the screen, where they would
-- wait for a key: ours are told instead.
---@param self smith.Connection
---@return function
local function starter(self)
  return function(dispatchers)
    local own = vim.tbl_extend('force', dispatchers, {
      on_exit = function(code, signal)
        vim.schedule(function()
          ended(self, reason_of(code, signal))
        end)
        dispatchers.on_exit(0, 0)
      end,
      on_error = function(code, problem)
        local what = vim.lsp.rpc.client_errors[code] or code
        vim.schedule(function()
          log.tell(('trouble with the server: %s %s'):format(what, vim.inspect(problem)), 'error')
        end)
      end,
    })
    return vim.lsp.rpc.start(config.values.cmd, own, { cwd = self.root, env = config.values.env })
  end
end

---@param self smith.Connection
---@return table
local function lsp_config(self)
  return {
    name = 'smith',
    cmd = starter(self),
    root_dir = self.root,
    handlers = handlers_of(self),
    capabilities = wire.capabilities(),
    init_options = config.values.init_options,
    before_init = wire.tell_time,
    on_init = function()
      vim.schedule(function()
        became_ready(self)
      end)
    end,
  }
end

--- The connection for `root`, started if there is none.
---@param root string
---@param listener smith.Listener
---@return smith.Connection?
---@return string? problem
function M.start(root, listener)
  local known = connections[root]
  if known then
    return known
  end
  local program = config.values.cmd[1]
  if vim.fn.executable(program) == 0 then
    return nil, ('cannot start the server: %s is not found; see :checkhealth smith'):format(program)
  end
  local self = setmetatable({
    root = root,
    state = 'starting',
    stopping = false,
    listener = listener,
    queued = {},
    open = {},
    next_id = 0,
  }, Connection)
  local id = wire.launch(lsp_config(self))
  self.client = id and vim.lsp.get_client_by_id(id)
  if not self.client then
    return nil, ('cannot start the server: %s did not run; see :checkhealth smith'):format(program)
  end
  connections[root] = self
  log.write('info', ('server started for %s'):format(root))
  return self
end

---@return smith.Connection[]
function M.all()
  return vim.tbl_values(connections)
end

---@param root string
---@return smith.Connection?
function M.get(root)
  return connections[root]
end

---@return string encoding of positions on the wire
function Connection:encoding()
  return self.client.offset_encoding or 'utf-16'
end

---@return table of the server, from `initialize`; empty before its answer
function Connection:capabilities()
  return self.client.server_capabilities or {}
end

---@param command string
---@return boolean
function Connection:supports(command)
  local provider = self:capabilities().executeCommandProvider or {}
  return vim.list_contains(provider.commands or {}, command)
end

---@param method string
---@param params table
function Connection:notify(method, params)
  if self.state == 'ready' then
    wire.call(self.client, 'notify', method, params)
  end
end

--- Sends what was typed in every buffer: Neovim holds changes back for a moment.
function Connection:flush()
  self:notify(protocol.method.flushed, vim.empty_dict())
end

---@param self smith.Connection
---@param params table
---@param id integer
---@param buf integer
local function send(self, params, id, buf)
  local function answered(err, result)
    local answer = self.open[id]
    self.open[id] = nil
    if answer then
      answer(err, result)
    end
  end
  self:flush()
  if not wire.call(self.client, 'request', EXECUTE, params, answered, buf) then
    answered({ message = 'the server is gone' })
  end
end

--- Runs a command of the server, now or as soon as it is ready. Never waits.
---@param command string
---@param argument table
---@param answer fun(err: table?, result: any)
---@param buf integer a real buffer: with 0 Neovim would not send pending changes first
function Connection:command(command, argument, answer, buf)
  if self.state == 'ended' then
    return answer({ message = 'the server has ended' })
  end
  self.next_id = self.next_id + 1
  local id = self.next_id
  self.open[id] = answer
  local params = { command = command, arguments = { next(argument) and argument or vim.empty_dict() } }
  local function run()
    send(self, params, id, buf)
  end
  if self.state == 'ready' then
    run()
  else
    self.queued[#self.queued + 1] = run
  end
end

--- Asks the server to leave; its end comes as an event.
function Connection:stop()
  self.stopping = true
  wire.call(self.client, 'stop')
end

return M
