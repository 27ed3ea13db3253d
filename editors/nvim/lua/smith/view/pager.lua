-- A text to read: a scratch buffer on a tab page of its own, closed with q.

local api = vim.api

local M = {}

---@class smith.Page
---@field title string
---@field format string 'markdown' or anything else
---@field content string

---@param from integer window
---@return fun()
local function close_to(from)
  return function()
    vim.cmd.close()
    if api.nvim_win_is_valid(from) then
      api.nvim_set_current_win(from)
    end
  end
end

--- Opens `page` and goes there.
---@param page smith.Page
---@return integer buf
function M.open(page)
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(page.content, '\n', { plain = true }))
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = page.format == 'markdown' and 'markdown' or ''
  local from = api.nvim_get_current_win()
  vim.cmd(('tab sbuffer %d'):format(buf))
  vim.cmd.stopinsert()
  local win = api.nvim_get_current_win()
  vim.wo[win][0].winbar = ' ' .. page.title:gsub('%%', '%%%%'):gsub('%s+', ' ')
  vim.wo[win][0].wrap = true
  vim.keymap.set('n', 'q', close_to(from), { buffer = buf, nowait = true, desc = 'close' })
  return buf
end

return M
