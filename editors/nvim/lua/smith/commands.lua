-- `:Smith`: its sub-commands as a table, and their completion.

local actions = require('smith.actions')
local log = require('smith.log')

local M = {}

---@class smith.Call what Neovim hands to a user command
---@field args string
---@field range integer
---@field line1 integer
---@field line2 integer

---@param rest string
---@param call smith.Call
local function send(rest, call)
  if call.range > 0 and rest == '' then
    return actions.attach_lines(call.line1, call.line2)
  elseif rest == '' then
    return actions.attach_buffer()
  end
  local context = require('smith.context')
  local buf = vim.api.nvim_get_current_buf()
  actions.send(rest, call.range > 0 and context.of_lines(buf, call.line1, call.line2) or nil)
end

---@type table<string, fun(rest: string, call: smith.Call)>
local SUB = {
  always = function()
    actions.always()
  end,
  cancel = function()
    actions.cancel()
  end,
  close = function()
    actions.close()
  end,
  delete = function()
    actions.conversation('delete')
  end,
  fork = function()
    actions.conversation('fork')
  end,
  health = function()
    vim.cmd('checkhealth smith')
  end,
  log = function()
    vim.cmd.split(vim.fn.fnameescape(log.path()))
  end,
  no = function(rest)
    actions.no(rest)
  end,
  open = function()
    actions.open()
  end,
  send = send,
  steer = function(rest)
    actions.steer(rest)
  end,
  stop = function()
    actions.stop()
  end,
  ['take-over'] = function()
    actions.conversation('take_over')
  end,
  toggle = function()
    actions.toggle()
  end,
  yes = function()
    actions.yes()
  end,
}

--- Runs `:Smith {sub} {rest}`; without `sub` the chat opens.
---@param call smith.Call
function M.run(call)
  local sub, rest = call.args:match('^%s*(%S*)%s*(.-)%s*$')
  local run = SUB[sub == '' and (call.range > 0 and 'send' or 'open') or sub]
  if not run then
    log.tell(('there is no :Smith %s; see :help :Smith'):format(sub), 'error')
    return
  end
  run(rest, call)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  if line:match('Smith%s+%S+%s') then
    return {}
  end
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(SUB))
  table.sort(names)
  return names
end

return M
