-- A text to read: a scratch buffer in a window of its own, closed with q.

local api = vim.api

local M = {}

---@class smith.Page
---@field title string
---@field format string 'markdown' or anything else
---@field content string

--- Opens `page` and goes there.
---@param page smith.Page
---@return integer buf
function M.open(page)
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(page.content, '\n', { plain = true }))
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = page.format == 'markdown' and 'markdown' or ''
  local win = api.nvim_open_win(buf, true, { split = 'below', win = 0 })
  vim.wo[win][0].winbar = ' ' .. page.title:gsub('%%', '%%%%'):gsub('%s+', ' ')
  vim.wo[win][0].wrap = true
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true, desc = 'close' })
  return buf
end

return M
