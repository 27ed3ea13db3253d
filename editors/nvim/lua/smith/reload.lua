-- Files that changed under open buffers: an unmodified buffer takes the new text without a question, as one undo
-- step, with cursor, view and marks on the lines they stood on; a modified one keeps its text and is marked.

local api = vim.api
local buffers = require('smith.buffers')
local log = require('smith.log')
local ready = require('smith.ready')
local waiting = require('smith.waiting')

local M = {}

local diff = vim.text and vim.text.diff or vim.diff
local ALL_ROWS = { { 0, math.huge } }

---@param buf integer
---@return string[]
local function lines_of(buf)
  return api.nvim_buf_get_lines(buf, 0, -1, true)
end

---@param hunks integer[][] of the line diff
---@param row integer from 1, before
---@return integer row after
local function moved_row(hunks, row)
  local shift = 0
  for _, hunk in ipairs(hunks) do
    local start, count, new_start, new_count = unpack(hunk)
    local first = count == 0 and start + 1 or start
    if row < first then
      break
    elseif row < first + count then
      local base = new_count == 0 and new_start + 1 or new_start
      return base + math.min(row - first, math.max(new_count - 1, 0))
    end
    shift = shift + new_count - count
  end
  return row + shift
end

---@param buf integer
---@return table<integer, table> views of the windows that show it
local function views_of(buf)
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = api.nvim_win_call(win, vim.fn.winsaveview)
  end
  return views
end

---@param buf integer
---@return table<string, integer[]>
local function marks_of(buf)
  local marks = {}
  for code = string.byte('a'), string.byte('z') do
    local place = api.nvim_buf_get_mark(buf, string.char(code))
    if place[1] > 0 then
      marks[string.char(code)] = place
    end
  end
  return marks
end

---@param buf integer
---@param views table<integer, table>
---@param row_now fun(row: integer): integer
local function restore_views(buf, views, row_now)
  for win, view in pairs(views) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf then
      view.lnum, view.topline = row_now(view.lnum), row_now(view.topline)
      api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

---@param buf integer
---@param marks table<string, integer[]>
---@param row_now fun(row: integer): integer
local function restore_marks(buf, marks, row_now)
  for name, place in pairs(marks) do
    local row = row_now(place[1])
    local line = api.nvim_buf_get_lines(buf, row - 1, row, true)[1]
    api.nvim_buf_set_mark(buf, name, row, math.min(place[2], #line), {})
  end
end

-- `silent! checktime` with 'autoread' asks nothing; 'undoreload' keeps the old text whatever its size.
---@param buf integer
local function read_again(buf)
  local undoreload = vim.go.undoreload
  local autoread = api.nvim_get_option_value('autoread', { buf = buf })
  local set = "noautocmd call nvim_set_option_value('autoread', v:true, {'buf': %d})"
  vim.cmd('noautocmd set undoreload=-1')
  vim.cmd(set:format(buf))
  vim.cmd(('silent! checktime %d'):format(buf))
  vim.cmd(('noautocmd set undoreload=%d'):format(undoreload))
  if autoread ~= true then
    api.nvim_buf_call(buf, function()
      vim.cmd('noautocmd setlocal ' .. (autoread == false and 'noautoread' or 'autoread<'))
    end)
  end
end

-- A buffer made for a file that did not exist then: 'autoread' does not cover that.
---@param buf integer
---@return boolean
local function is_new(buf)
  return vim.b[buf].smith_disk == '' and api.nvim_buf_line_count(buf) == 1 and lines_of(buf)[1] == ''
end

---@param buf integer
local function reload(buf)
  local old, views, marks = lines_of(buf), views_of(buf), marks_of(buf)
  if is_new(buf) then
    api.nvim_buf_call(buf, function()
      vim.cmd('silent! keepalt edit')
    end)
  else
    read_again(buf)
  end
  buffers.note_disk(buf)
  local new = lines_of(buf)
  local options = { result_type = 'indices' }
  local hunks = diff(table.concat(old, '\n') .. '\n', table.concat(new, '\n') .. '\n', options)
  local function row_now(row)
    return math.max(1, math.min(moved_row(hunks, row), #new))
  end
  restore_views(buf, views, row_now)
  restore_marks(buf, marks, row_now)
end

---@param buf integer
local function leave(buf)
  vim.b[buf].smith_conflict = true
  local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':.')
  log.tell(('%s changed on disk; your unsaved text is kept'):format(name), 'warn')
end

---@param path string absolute
local function take_in(path)
  local buf = buffers.find(path)
  if not buf then
    return
  elseif vim.bo[buf].modified then
    return leave(buf)
  end
  waiting.add(function()
    if not api.nvim_buf_is_loaded(buf) then
      return true
    elseif not ready.check(buf, ALL_ROWS) then
      return false
    end
    if vim.bo[buf].modified then
      leave(buf)
    else
      reload(buf)
    end
    return true
  end)
end

--- Takes in what a call of the agent changed on disk.
---@param root string folder that relative paths start from
---@param paths string[]
function M.take_in(root, paths)
  for _, path in ipairs(paths) do
    take_in(path:sub(1, 1) == '/' and path or vim.fs.joinpath(root, path))
  end
end

return M
