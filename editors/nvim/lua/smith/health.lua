-- `:checkhealth smith`.

local attach = require('smith.attach')
local client = require('smith.client')
local config = require('smith.config')
local log = require('smith.log')
local protocol = require('smith.protocol')

local M = {}

local health = vim.health
local PATIENCE_MS = 5000

local function check_neovim()
  health.start('smith: Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.error('Neovim ' .. version .. ' is too old', { 'Install Neovim 0.10 or newer.' })
  end
end

---@param command string[]
---@return string? first line that it prints
local function first_line(command)
  local ok, process = pcall(vim.system, command, { text = true, timeout = PATIENCE_MS })
  local result = ok and process:wait() or { code = 1 }
  local text = (result.stdout or '') ~= '' and result.stdout or result.stderr
  return result.code == 0 and vim.trim((text or ''):match('[^\n]*')) or nil
end

local function check_command()
  health.start('smith: server')
  local program = config.values.cmd[1]
  if vim.fn.executable(program) == 0 then
    return health.error(('%s is not found'):format(program), {
      'Install smith-server, or name the command: require("smith").setup({ cmd = { "/path/to/smith", "serve" } })',
    })
  end
  health.ok('command: ' .. table.concat(config.values.cmd, ' '))
  health.info('found at ' .. vim.fn.exepath(program))
  local version = first_line({ program, '--version' })
  if version then
    health.ok('version: ' .. version)
  else
    health.warn(('`%s --version` gave no answer'):format(program))
  end
end

local function check_python()
  local version = vim.fn.executable('python3') == 1 and first_line({ 'python3', '--version' })
  if version then
    health.info('python3: ' .. version)
  else
    health.info('python3 is not found; the server brings or names its own')
  end
end

---@param connection smith.Connection
local function check_connection(connection)
  health.start('smith: ' .. connection.root)
  local experimental = connection:capabilities().experimental or {}
  local server = experimental.smith
  if connection.state ~= 'ready' then
    return health.warn('the server is starting')
  elseif not server then
    return health.error('the server does not announce the protocol of smith', { 'Check the setting cmd.' })
  end
  health.ok(('protocol %s, ours is %d; server %s'):format(server.protocol, protocol.version, server.version or '?'))
  health.info('positions: ' .. connection:encoding())
  local buffers = attach.attached(connection)
  health.info(('%d buffers attached'):format(#buffers))
  for _, buf in ipairs(buffers) do
    health.info(vim.api.nvim_buf_get_name(buf))
  end
end

local function check_running()
  local running = client.all()
  if #running == 0 then
    health.start('smith: connections')
    health.info('no server is running; it starts with the first use')
  end
  for _, connection in ipairs(running) do
    check_connection(connection)
  end
end

function M.check()
  check_neovim()
  check_command()
  check_python()
  check_running()
  health.start('smith: log')
  health.info(log.path())
end

return M
