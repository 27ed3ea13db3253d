-- The event logs of whole turns give the text that all front-ends show.

local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local minimal = dofile(here .. '/minimal.lua')
local blocks = require('smith.blocks')
local state = require('smith.state')

local WIDTH = 80
local folder = minimal.repo .. '/tests/golden/turns/'

---@param path string
---@return string
local function text_of(path)
  local folded = state.new()
  for line in io.lines(path) do
    state.reduce(folded, vim.json.decode(line, { luanil = { object = true } }))
  end
  return table.concat(blocks.lines(state.shown(folded).blocks, WIDTH), '\n') .. '\n'
end

for _, path in ipairs(vim.fn.glob(folder .. '*.jsonl', true, true)) do
  local expected = path:gsub('%.jsonl$', '.txt')
  minimal.it(vim.fs.basename(path) .. ' gives the text beside it', function()
    if vim.env.SMITH_UPDATE_GOLDEN then
      local file = assert(io.open(expected, 'wb'))
      file:write(text_of(path))
      file:close()
    end
    minimal.equal(text_of(path), minimal.read(expected))
  end)
end

minimal.finish()
