-- Every file buffer under the root of a running server is attached to it, however the buffer came to be.

local api = vim.api
local buffers = require('smith.buffers')
local client = require('smith.client')
local text = require('smith.text')

local M = {}

-- They change the text as sent, or what may be written, without any event of the text.
local OPTIONS = { 'fileformat', 'endofline', 'fileencoding', 'bomb' }

---@param root string
---@param path string
---@return boolean
local function is_under(root, path)
  local folder = root == '/' and root or root .. '/'
  return vim.startswith(path, folder) or vim.startswith(buffers.real_path(path), folder)
end

---@param connection smith.Connection
---@param buf integer
---@return boolean
local function is_attached(connection, buf)
  return connection.client.attached_buffers[buf] == true
end

---@param connection smith.Connection
---@param buf integer
local function attach(connection, buf)
  if connection.state == 'ended' or is_attached(connection, buf) or not buffers.is_file(buf) then
    return
  end
  -- Bytes that are no Unicode would go out as they are, and no JSON reader takes them.
  if is_under(connection.root, api.nvim_buf_get_name(buf)) and text.is_unicode(text.read(buf).text) then
    vim.lsp.buf_attach_client(buf, connection.client.id)
    if vim.b[buf].smith_disk == nil then
      buffers.note_disk(buf)
    end
  end
end

---@param connection smith.Connection
---@param buf integer
---@return boolean whether it was attached
local function detach(connection, buf)
  if connection.state ~= 'ready' or not is_attached(connection, buf) then
    return false
  end
  vim.lsp.buf_detach_client(buf, connection.client.id)
  return true
end

---@param buf integer
local function attach_to_all(buf)
  for _, connection in ipairs(client.all()) do
    attach(connection, buf)
  end
end

---@param buf integer
local function detach_from_all(buf)
  for _, connection in ipairs(client.all()) do
    detach(connection, buf)
  end
end

-- `didClose` and `didOpen`: the server gets the text as it is now.
---@param buf integer
local function send_again(buf)
  for _, connection in ipairs(client.all()) do
    if detach(connection, buf) then
      attach(connection, buf)
    end
  end
end

---@param group integer
---@param events string[]
---@param act fun(buf: integer)
local function on(group, events, act)
  api.nvim_create_autocmd(events, {
    group = group,
    callback = function(event)
      act(event.buf)
    end,
  })
end

local function watch()
  local group = api.nvim_create_augroup('smith.attach', { clear = true })
  on(group, { 'BufReadPost', 'BufNewFile', 'BufWritePost', 'FileChangedShellPost' }, buffers.note_disk)
  on(group, { 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost', 'BufEnter' }, attach_to_all)
  on(group, { 'BufFilePre' }, detach_from_all)
  api.nvim_create_autocmd('OptionSet', {
    group = group,
    pattern = OPTIONS,
    callback = function()
      send_again(api.nvim_get_current_buf())
    end,
  })
end

--- Attaches what is open under the root of `connection`, and from now on what is opened.
---@param connection smith.Connection
function M.start(connection)
  watch()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    attach(connection, buf)
  end
end

---@param connection smith.Connection
---@return integer[]
function M.attached(connection)
  return vim.tbl_keys(connection.client.attached_buffers)
end

return M
