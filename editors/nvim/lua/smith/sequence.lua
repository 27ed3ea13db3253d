-- Events in their order: they are numbered by one, so that a gap shows. What was missed is asked for again,
-- and where the server has not kept it the conversation is loaded anew.

local log = require('smith.log')
local protocol = require('smith.protocol')

local HELD = 'This conversation is open elsewhere (%s) and is shown read-only; '
  .. ':Smith take-over and :Smith fork go on with it.'

local M = {}

---@class smith.Sequence
---@field session smith.Session
---@field last integer? number of the last event that was taken in
---@field loads integer loads begun; only the last one counts
---@field held table[]? events that came while what was missed is asked for
local Sequence = {}
Sequence.__index = Sequence

---@param session smith.Session
---@return smith.Sequence
function M.new(session)
  return setmetatable({ session = session, last = nil, held = nil, loads = 0 }, Sequence)
end

--- Numbers begin again with a new connection.
function Sequence:restart()
  self.last, self.held = nil, nil
end

---@param self smith.Sequence
---@param event table
local function pass(self, event)
  if event.seq and self.last and event.seq <= self.last then
    return
  end
  self.last = event.seq or self.last
  self.session:take(event)
end

---@param self smith.Sequence
---@param command string
---@return boolean
local function supports(self, command)
  local connection = self.session.connection
  return connection ~= nil and connection:supports(command)
end

-- What is told while a conversation is loaded is part of what is loaded, but for these: they are not stored.
local TOLD_ONCE = { notice = true, agent_error = true, persistence_error = true }

-- The newest page comes first.
---@param result {events: table[], before: any}
---@return table[]
local function with_note(result)
  if result.before == nil or result.before == vim.NIL then
    return result.events
  end
  local note = { kind = 'notice', level = 'info', text = 'What came before is stored and not shown here.' }
  return vim.list_extend({ note }, result.events)
end

--- Takes in what came meanwhile; there may be a gap in it again.
function Sequence:release()
  local held = self.held or {}
  self.held = nil
  for _, event in ipairs(held) do
    self:take(event)
  end
end

---@param self smith.Sequence
local function tell_unstored(self)
  for _, event in ipairs(self.held or {}) do
    if TOLD_ONCE[event.kind] and event.seq and self.last and event.seq <= self.last then
      self.session:take(event)
    end
  end
end

---@param self smith.Sequence
---@param err table?
---@param result any
local function take_stored(self, err, result)
  if err then
    -- The next prompt goes to another one.
    local shown = self.session:conversation()
    if shown and type(err.data) == 'table' and err.data.code == 'not_found' then
      shown.gone = true
    end
    log.tell('the conversation could not be loaded: ' .. tostring(err.message), 'warn')
  elseif result and result.conversation and result.events then
    self.session:load(result.conversation, with_note(result))
    self.last = type(result.seq) == 'number' and result.seq or nil
    tell_unstored(self)
    self:tell_holder(result.holder)
  end
end

--- Loads the conversation that is shown, else the stored one of the root, if the server keeps one.
--- Counting goes on behind what the server has told with it. `done` is called when it is there.
---@param done fun()?
function Sequence:load(done)
  self.last = nil
  done = done or function() end
  if not supports(self, protocol.command.conversations) then
    self.session:tell(nil)
    self:release()
    return done()
  end
  self.held = self.held or {}
  self.loads = self.loads + 1
  local this = self.loads
  local argument = { op = 'load', conversation = self.session:shown_id() }
  self.session:command(protocol.command.conversations, argument, function(err, result)
    if this == self.loads then
      take_stored(self, err, result)
      self:release()
    end
    done()
  end, vim.api.nvim_get_current_buf())
end

--- Says who else has the conversation open.
---@param holder any
function Sequence:tell_holder(holder)
  if holder ~= nil and holder ~= vim.NIL and holder ~= '' then
    self.session:conversation().holder = holder
    local who = type(holder) == 'table' and (holder.face or holder.host) or tostring(holder)
    self.session:take({ kind = 'notice', level = 'warning', text = HELD:format(who or 'another smith') })
  end
end

---@param self smith.Sequence
---@param events table[]?
---@return boolean
local function fills_the_gap(self, events)
  return events ~= nil and events[1] ~= nil and events[1].seq ~= nil and events[1].seq <= self.last + 1
end

---@param self smith.Sequence
local function ask_again(self)
  if not supports(self, protocol.command.status) or not self.last then
    return self:load()
  end
  self.session:command(protocol.command.status, { since = self.last }, function(err, result)
    local events = not err and result and result.events or nil
    if not fills_the_gap(self, events) then
      return self:load()
    end
    for _, event in ipairs(events) do
      pass(self, event)
    end
    self:release()
  end, vim.api.nvim_get_current_buf())
end

--- Takes an event of the wire in.
---@param event table
function Sequence:take(event)
  if self.held then
    self.held[#self.held + 1] = event
    return
  end
  local gap = event.seq and self.last and event.seq > self.last + 1
  if event.kind == 'resync' or gap then
    self.held = event.kind == 'resync' and {} or { event }
    log.write('warn', ('events were missed after %s'):format(tostring(self.last)))
  end
  if event.kind == 'resync' then
    self:load()
  elseif gap then
    ask_again(self)
  else
    pass(self, event)
  end
end

return M
