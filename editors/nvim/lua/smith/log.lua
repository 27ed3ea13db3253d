-- What is written down (a file, without the text of chats) and what the person is told (one short line).

local config = require('smith.config')
local waiting = require('smith.waiting')

local M = {}

local LEVELS = { debug = 1, info = 2, warn = 3, error = 4 }
local NOTIFY = { info = vim.log.levels.INFO, warn = vim.log.levels.WARN, error = vim.log.levels.ERROR }
-- Room that a message must leave on the last line, or Neovim asks for <CR> and eats a key.
local MARGIN = 13

---@return string path of the log file
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath('log'), 'smith.nvim.log')
end

---@param level 'debug'|'info'|'warn'|'error'
---@param text string
function M.write(level, text)
  if LEVELS[level] < (LEVELS[config.values.log_level] or LEVELS.info) then
    return
  end
  vim.fn.mkdir(vim.fn.stdpath('log'), 'p')
  local file = io.open(M.path(), 'a')
  if file then
    file:write(('%s %-5s %s\n'):format(os.date('%Y-%m-%d %H:%M:%S'), level, text))
    file:close()
  end
end

---@param text string
---@return string
local function one_line(text)
  local line = ('smith: ' .. text):gsub('%s+', ' ')
  local room = math.max(vim.o.columns - MARGIN, 20)
  if vim.fn.strdisplaywidth(line) <= room then
    return line
  end
  return vim.fn.strcharpart(line, 0, room - 1) .. '…'
end

---@return boolean
local function screen_is_free()
  local mode = vim.api.nvim_get_mode()
  return not mode.blocking and not mode.mode:find('^[cr]')
end

--- Tells the person one line, as soon as it cannot get in the way of what they type.
---@param text string
---@param level 'info'|'warn'|'error'|nil
function M.tell(text, level)
  level = level or 'info'
  M.write(level, text)
  waiting.add(function()
    if not screen_is_free() then
      return false
    end
    -- A second message right after another would scroll the screen and ask for <CR>.
    vim.cmd.redraw()
    vim.notify(one_line(text), NOTIFY[level])
    return true
  end)
end

return M
