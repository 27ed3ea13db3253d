-- Floor N: a bare client in Neovim. <CR> sends a frame, each frame that comes is text at the end of a buffer.

local command = ...
local uv = vim.uv
local input, output = uv.new_pipe(), uv.new_pipe()
local buf = vim.api.nvim_create_buf(true, true)
local rest = ''

uv.spawn(command[1], { args = vim.list_slice(command, 2), stdio = { input, output, nil } })

local function append(text)
  local row = vim.api.nvim_buf_line_count(buf) - 1
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  vim.api.nvim_buf_set_text(buf, row, #line, row, #line, vim.split(text, '\n', { plain = true }))
end

local function take(data)
  rest = rest .. data
  while true do
    local head, size = rest:match('^(Content%-Length: (%d+)\r\n\r\n)')
    if not head or #rest < #head + tonumber(size) then
      return
    end
    append(vim.json.decode(rest:sub(#head + 1, #head + tonumber(size))).text)
    rest = rest:sub(#head + tonumber(size) + 1)
  end
end

output:read_start(vim.schedule_wrap(function(_, data)
  if data then
    take(data)
  end
end))

vim.api.nvim_set_current_buf(buf)
vim.keymap.set('n', '<CR>', function()
  input:write('Content-Length: 2\r\n\r\n{}')
end, { buffer = buf })
return buf
