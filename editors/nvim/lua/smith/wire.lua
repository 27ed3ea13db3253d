-- Neovim's LSP client in the terms of this plug-in: what differs between its versions, and what we announce.

local config = require('smith.config')
local protocol = require('smith.protocol')

local M = {}

local uv = vim.uv or vim.loop
local NEW_API = vim.fn.has('nvim-0.11') == 1

--- Unix time in ms: deadlines are told by this clock.
---@return number
function M.now()
  local seconds, micro = uv.gettimeofday()
  return seconds * 1000 + math.floor(micro / 1000)
end

--- Calls a function of a client; before 0.11 these took no client.
---@param client vim.lsp.Client
---@param name string
function M.call(client, name, ...)
  if NEW_API then
    return client[name](client, ...)
  end
  return client[name](...)
end

---@return table
local function announced()
  return { protocol = protocol.version, events = true, applyEdit = true, review = false }
end

---@return table
function M.capabilities()
  local own = vim.lsp.protocol.make_client_capabilities()
  own.general = vim.tbl_extend('force', own.general or {}, { positionEncodings = { 'utf-8', 'utf-16', 'utf-32' } })
  own.experimental = vim.tbl_extend('force', own.experimental or {}, { smith = announced() })
  return own
end

--- Goes with `initialize`: the server measures deadlines by our clock.
---@param params table of `initialize`
function M.tell_time(params)
  local now = M.now()
  params.capabilities.experimental.smith.now = now
  params.initializationOptions = vim.tbl_extend('force', config.values.init_options, { now = now })
end

--- Starts a client that is attached to nothing yet.
---@param settings table
---@return integer?
function M.launch(settings)
  if NEW_API then
    local function never()
      return false
    end
    return vim.lsp.start(settings, { attach = false, reuse_client = never, silent = true })
  end
  return vim.lsp['start_client'](settings)
end

return M
