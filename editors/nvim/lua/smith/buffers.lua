-- Which buffer visits a file, what it holds, and saving it. A file is the same by device and inode, not by name.

local api = vim.api
local uv = vim.uv or vim.loop
local ready = require('smith.ready')
local text = require('smith.text')
local waiting = require('smith.waiting')

local M = {}

local SAVE_WAIT_MS = 5000
local EOL_NAME = { ['\n'] = 'lf', ['\r\n'] = 'crlf', ['\r'] = 'cr' }

---@param buf integer
---@return boolean whether it visits a file, loaded
function M.is_file(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  return name ~= '' and not name:find('^%a[%w+.-]*://') and vim.fn.isdirectory(name) == 0
end

---@param path string
---@return string? device and inode
local function identity(path)
  local stat = uv.fs_stat(path)
  return stat and ('%d:%d'):format(stat.dev, stat.ino)
end

---@param path string
---@return string with the links of its existing part followed
function M.real_path(path)
  local real = uv.fs_realpath(path)
  if real then
    return real
  end
  local folder = vim.fs.dirname(path)
  if not folder or folder == path then
    return path
  end
  return vim.fs.joinpath(M.real_path(folder), vim.fs.basename(path))
end

---@param buf integer
---@param path string
---@param id string? identity of `path`
---@return boolean
local function visits(buf, path, id)
  local name = api.nvim_buf_get_name(buf)
  if name == path then
    return true
  elseif id then
    return identity(name) == id
  end
  return M.real_path(name) == M.real_path(path)
end

--- The loaded buffer that visits the file at `path`, whatever name it was opened under.
---@param path string absolute
---@return integer?
function M.find(path)
  local id = identity(path)
  local found
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if M.is_file(buf) and visits(buf, path, id) then
      if api.nvim_buf_get_name(buf) == path then
        return buf
      end
      found = found or buf
    end
  end
  return found
end

---@param uri string
---@return integer?
function M.find_uri(uri)
  return M.find(vim.uri_to_fname(uri))
end

---@param path string
---@return string? how the file looks on disk
local function disk_mark(path)
  local stat = uv.fs_stat(path)
  return stat and ('%d.%d:%d:%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

--- Remembers how the file of `buf` looks on disk: Neovim has just read or written it.
---@param buf integer
function M.note_disk(buf)
  vim.b[buf].smith_disk = disk_mark(api.nvim_buf_get_name(buf)) or ''
  vim.b[buf].smith_conflict = nil
end

---@param buf integer
---@return boolean whether the file is no longer what Neovim last read or wrote
local function changed_on_disk(buf)
  local noted = vim.b[buf].smith_disk
  return noted ~= nil and noted ~= (disk_mark(api.nvim_buf_get_name(buf)) or '')
end

--- Answer to `smith/readBuffer`.
---@param params {uri: string, real_path: string?}
---@return table
function M.read(params)
  local buf = M.find_uri(params.uri) or (params.real_path and M.find(params.real_path))
  if not buf then
    return { open = false }
  end
  local doc = text.read(buf)
  local answer = {
    open = true,
    text = doc.text,
    version = vim.lsp.util.buf_versions[buf] or 0,
    encoding = vim.bo[buf].fileencoding ~= '' and vim.bo[buf].fileencoding or 'utf-8',
    eol = EOL_NAME[doc.nl],
    final_newline = doc.eol,
    bom = vim.bo[buf].bomb,
    modified = vim.bo[buf].modified,
  }
  if text.holds_nul(doc) or not text.is_unicode(doc.text) then
    answer.text = vim.NIL
    answer.message = 'the buffer holds bytes that are no Unicode text'
  end
  return answer
end

---@param buf integer
---@return string? reason why Neovim would not write it, or would ask first
local function unsavable(buf)
  if vim.bo[buf].readonly then
    return 'the buffer is read-only'
  elseif changed_on_disk(buf) then
    return 'the file on disk changed since it was read'
  end
end

---@param buf integer
local function write(buf)
  api.nvim_buf_call(buf, function()
    vim.cmd('silent keepalt lockmarks write')
  end)
end

--- Compares and writes in one tick: no key of the person comes between.
---@param uri string
---@param base_hash string? of the text that may be written; any text without it
---@return {uri: string, status: 'saved'|'stale'|'refused', message: string?}
local function save(uri, base_hash)
  local buf = M.find_uri(uri)
  if not buf then
    return { uri = uri, status = 'refused', message = 'no buffer visits this file' }
  elseif base_hash and text.hash(text.read(buf).text) ~= base_hash then
    return { uri = uri, status = 'stale', message = 'the text changed since it was read' }
  elseif not vim.bo[buf].modified then
    return { uri = uri, status = 'saved' }
  end
  local reason = unsavable(buf)
  if reason then
    return { uri = uri, status = 'refused', message = reason }
  end
  local ok, problem = pcall(write, buf)
  if not ok then
    return { uri = uri, status = 'refused', message = (tostring(problem):gsub('^.-(E%d+:)', '%1')) }
  end
  return { uri = uri, status = 'saved' }
end

---@param params {uris: string[], base_hashes: string[]?}
---@return table
local function save_all(params)
  local results = {}
  for i, uri in ipairs(params.uris) do
    results[i] = save(uri, (params.base_hashes or {})[i])
  end
  return { results = results }
end

---@param uris string[]
---@param reason string?
---@return table
local function refuse_all(uris, reason)
  local message = reason or 'the editor is in the middle of a command'
  return {
    results = vim.tbl_map(function(uri)
      return { uri = uri, status = 'refused', message = message }
    end, uris),
  }
end

--- Answer to `smith/saveBuffers`; waits a while for an editor that is in the middle of a command.
---@param params {uris: string[], reason: string?, base_hashes: string[]?}
---@return table
function M.save(params)
  if ready.check(api.nvim_get_current_buf(), {}) then
    return save_all(params)
  end
  local thread = coroutine.running()
  local deadline = uv.now() + SAVE_WAIT_MS
  waiting.retry(function()
    local ok, reason = ready.check(api.nvim_get_current_buf(), {})
    if not ok and uv.now() < deadline then
      return false
    end
    local answer = ok and save_all(params) or refuse_all(params.uris, reason)
    local resumed, problem = coroutine.resume(thread, answer)
    assert(resumed, problem)
    return true
  end)
  return coroutine.yield()
end

return M
