-- `smith/applyEdit`: a change that is applied only when the text is the one it was made for and the editor is ready.
-- Three guards, asked in the tick in which the change is made: hash of the text, old text of each range, ready editor.

local apply = require('smith.apply')
local buffers = require('smith.buffers')
local plan = require('smith.plan')
local protocol = require('smith.protocol')
local ready = require('smith.ready')
local text = require('smith.text')
local waiting = require('smith.waiting')
local wire = require('smith.wire')

local M = {}

local MAX_BYTES = 10 * 1024 * 1024
local CURRENT_LINES = 200
local REMEMBERED = 1000

---@class smith.EditLink what an editor needs of the connection it serves
---@field notify fun(method: string, params: table)
---@field encoding fun(): string
---@field changes smith.Changes
---@field applied fun(buf: integer, change: string)

---@class smith.Edits
---@field link smith.EditLink
---@field pending table<string, boolean> deferred changes
---@field receipts table<string, table> of changes that were applied
---@field order string[] the same, oldest first
local Edits = {}
Edits.__index = Edits

---@param link smith.EditLink
---@return smith.Edits
function M.new(link)
  return setmetatable({ link = link, pending = {}, receipts = {}, order = {} }, Edits)
end

---@param edits table[]
---@return integer[][]
local function rows_of(edits)
  return vim.tbl_map(function(edit)
    return { edit.range.start.line, edit.range['end'].line }
  end, edits)
end

---@param doc smith.Document
---@param edits table[]
---@return {range: table, text: string} the whole lines that stand at the ranges now
local function current(doc, edits)
  local first, last = math.huge, 0
  for _, edit in ipairs(edits) do
    first = math.min(first, edit.range.start.line)
    last = math.max(last, edit.range['end'].line)
  end
  first = math.max(math.min(first, #doc.lines - 1), 0)
  last = math.max(math.min(last, #doc.lines - 1, first + CURRENT_LINES - 1), first)
  return {
    range = { start = { line = first, character = 0 }, ['end'] = { line = last + 1, character = 0 } },
    text = table.concat(doc.lines, doc.nl, first + 1, last + 1),
  }
end

---@param status string
---@param message string?
---@return table
local function receipt(status, message)
  return { status = status, message = message }
end

---@param doc smith.Document
---@return string? reason why this document is never edited
local function unfit(doc)
  if #doc.text > MAX_BYTES then
    return 'the document is larger than 10 MB'
  elseif text.holds_nul(doc) then
    return 'the document holds NUL bytes'
  elseif text.only_cr(doc) then
    return 'the only line ends of the document are CR, on which editors do not agree'
  end
end

---@param buf integer
---@return string?
local function locked(buf)
  if not vim.bo[buf].modifiable then
    return 'the buffer is not modifiable'
  elseif vim.bo[buf].readonly then
    return 'the buffer is read-only'
  end
end

--- Everything that is asked before the first letter is changed.
---@param self smith.Edits
---@param buf integer
---@param params table
---@return smith.Hunk[]? hunks, table? refusal, smith.Document? doc
local function guard(self, buf, params)
  local reason = locked(buf)
  if reason then
    return nil, receipt('read_only', reason)
  end
  local doc = text.read(buf)
  reason = unfit(doc)
  if reason then
    return nil, receipt('refused', reason)
  end
  local hunks, problem
  if text.hash(doc.text) == params.base_hash then
    hunks, problem = plan.make(buf, doc, params.edits, self.link.encoding())
  else
    problem = receipt('stale', 'the text changed since it was read')
  end
  if problem then
    local refusal = receipt(problem.status, problem.message)
    refusal.current = problem.status == 'stale' and current(doc, params.edits) or nil
    return nil, refusal
  end
  return hunks, nil, doc
end

---@param self smith.Edits
---@param change string
---@param answer table
local function remember(self, change, answer)
  self.receipts[change] = answer
  self.order[#self.order + 1] = change
  if #self.order > REMEMBERED then
    self.receipts[table.remove(self.order, 1)] = nil
  end
end

---@param self smith.Edits
---@param buf integer
---@param params table
---@return table
local function applied(self, buf, params)
  vim.schedule(function()
    self.link.applied(buf, params.change)
  end)
  -- The server gets the new text before it gets the answer.
  self.link.notify(protocol.method.flushed, vim.empty_dict())
  local answer = receipt('applied', not apply.can_undo(buf) and 'undo is off in this buffer' or nil)
  answer.version = vim.lsp.util.buf_versions[buf] or 0
  answer.hash = text.hash(text.read(buf).text)
  remember(self, params.change, answer)
  return answer
end

--- One try.
---@param params table
---@return table? receipt nil when the editor is not ready
---@return string? reason
function Edits:attempt(params)
  if params.deadline and wire.now() > params.deadline then
    return receipt('expired', 'the editor was busy until the deadline of the change')
  end
  local buf = buffers.find_uri(params.uri)
  if not buf then
    return receipt('gone', 'no buffer visits this file any more')
  end
  local isready, reason = ready.check(buf, rows_of(params.edits))
  if not isready then
    return nil, reason
  end
  local hunks, refusal, doc = guard(self, buf, params)
  if not hunks or not doc then
    return refusal
  end
  local outcome = apply.run(buf, hunks, function(i, hunk)
    self.link.changes:track(buf, params.change, i - 1, hunk, doc.nl)
  end)
  if outcome.done then
    return applied(self, buf, params)
  end
  self.link.changes:forget(buf, params.change)
  if outcome.locked then
    return nil, 'text is locked'
  end
  return receipt('failed', outcome.message)
end

---@param self smith.Edits
---@param params table
---@param answer table
local function done(self, params, answer)
  self.pending[params.change] = nil
  local report = vim.tbl_extend('force', answer, { change = params.change })
  self.link.notify(protocol.method.edit_done, report)
end

---@param self smith.Edits
---@param params table
local function defer(self, params)
  self.pending[params.change] = true
  waiting.retry(function()
    if not self.pending[params.change] then
      return true
    end
    local ok, answer = pcall(self.attempt, self, params)
    if not ok then
      answer = receipt('failed', tostring(answer))
    end
    if answer then
      done(self, params, answer)
    end
    return answer ~= nil
  end)
end

--- Answer to `smith/applyEdit`; after `deferred` exactly one `smith/editDone` follows.
---@param params table
---@return table
function Edits:handle(params)
  local known = self.receipts[params.change]
  if known then
    return known
  elseif self.pending[params.change] then
    return receipt('deferred', 'the change waits for the editor')
  end
  local answer, reason = self:attempt(params)
  if answer then
    return answer
  end
  defer(self, params)
  return receipt('deferred', reason)
end

--- `smith/withdrawEdit`: a deferred change is not made any more.
---@param params {change: string}
function Edits:withdraw(params)
  if self.pending[params.change] then
    done(self, params, receipt('withdrawn', 'the change was taken back before it could be made'))
  end
end

--- Drops what waits: nobody is there to be told.
function Edits:close()
  self.pending = {}
end

return M
