-- What goes along with a prompt: the file, and the lines that were selected.

local api = vim.api
local buffers = require('smith.buffers')
local text = require('smith.text')

local M = {}

---@class smith.Context
---@field uri string
---@field range table? in the encoding of the connection, filled in when it is sent
---@field selection string?
---@field cwd string?
---@field label string for the person
---@field span {from: smith.Place, to: smith.Place, lines: string[]}?

---@param buf integer
---@return string
local function name_of(buf)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':.')
end

--- The file that `buf` visits.
---@param buf integer
---@return smith.Context?
function M.of_buffer(buf)
  if not buffers.is_file(buf) then
    return nil
  end
  return { uri = vim.uri_from_bufnr(buf), label = name_of(buf) }
end

---@param buf integer
---@param first integer line from 1
---@param last integer
---@return smith.Context?
function M.of_lines(buf, first, last)
  local context = M.of_buffer(buf)
  if not context then
    return nil
  end
  local lines = api.nvim_buf_get_lines(buf, first - 1, last, false)
  context.selection = table.concat(lines, '\n')
  context.label = ('%s:%d-%d'):format(context.label, first, last)
  local to = { row = last - 1, col = #(lines[#lines] or '') }
  context.span = { from = { row = first - 1, col = 0 }, to = to, lines = lines }
  return context
end

--- What is selected between two positions of `getpos()`, in the given visual mode.
---@param buf integer
---@param from integer[]
---@param to integer[]
---@param mode string
---@return smith.Context?
function M.of_region(buf, from, to, mode)
  if from[2] > to[2] or (from[2] == to[2] and from[3] > to[3]) then
    from, to = to, from
  end
  local context = M.of_lines(buf, from[2], to[2])
  if context and mode ~= 'V' then
    context.selection = table.concat(vim.fn.getregion(from, to, { type = mode }), '\n')
  end
  if context and mode == 'v' then
    local last = context.span.lines[#context.span.lines]
    context.span.from.col = from[3] - 1
    -- The last character belongs to the selection, all its bytes.
    local cut = vim.fn.matchstr(last, [[^.]], math.min(to[3] - 1, #last))
    context.span.to.col = math.min(to[3] - 1 + #cut, #last)
  end
  return context
end

---@param line string
---@param place smith.Place
---@param encoding string
---@return table
local function position(line, place, encoding)
  return { line = place.row, character = text.character_column(line or '', place.col, encoding) }
end

--- As it goes on the wire.
---@param context smith.Context
---@param encoding string
---@return table
function M.on_wire(context, encoding)
  local wire = { uri = context.uri, selection = context.selection, cwd = vim.fn.getcwd() }
  local span = context.span
  if span then
    wire.range = {
      start = position(span.lines[1], span.from, encoding),
      ['end'] = position(span.lines[#span.lines], span.to, encoding),
    }
  end
  return wire
end

return M
