-- Text that grows by pieces is the same as text that came at once, however it was cut.

local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))
local minimal = dofile(here .. '/minimal.lua')
local Lines = require('smith.state.lines')
local text_block = require('smith.blocks.text')
local thinking_block = require('smith.blocks.thinking')

local PARTS =
  { 'word ', '\n', '\n\n', '```', '```lua\n', '~~~\n', '    ', '`a`', '# ', '😀', '- ', '````\n', '**b**' }

local function random_text()
  local parts = {}
  for i = 1, math.random(0, 30) do
    parts[i] = PARTS[math.random(#PARTS)]
  end
  return table.concat(parts)
end

local function grown(text, after_each)
  local body = Lines.new()
  local at = 1
  while at <= #text do
    local past = at + math.random(1, 7)
    Lines.append(body, text:sub(at, past - 1))
    at = past
    after_each(body)
  end
  return body
end

local function at_once(text)
  local body = Lines.new()
  Lines.append(body, text)
  return body
end

minimal.it('an append in pieces gives the same lines and the same code', function()
  for seed = 1, 300 do
    math.randomseed(seed)
    local text = random_text()
    local body = grown(text, function() end)
    minimal.equal(body, at_once(text))
    minimal.equal(Lines.text(body), text)
  end
end)

local function check_growth(render, block, text)
  local drawn = {}
  block.body = grown(text, function(body)
    block.body = body
    local from = math.max(#drawn, 1)
    local lines = render(block, 80, from)
    drawn = vim.list_extend(vim.list_slice(drawn, 1, from - 1), lines)
  end)
  if text ~= '' then
    minimal.equal(drawn, (render(block, 80)))
  end
end

minimal.it('drawing only from the last line on gives the same as drawing all', function()
  for seed = 1, 300 do
    math.randomseed(seed)
    check_growth(text_block.render, { kind = 'text' }, random_text())
    check_growth(thinking_block.render, { kind = 'thinking' }, random_text())
  end
end)

minimal.it('every highlight lies inside its line', function()
  for seed = 1, 300 do
    math.randomseed(seed)
    local lines, marks = text_block.render({ kind = 'text', body = at_once(random_text()) }, 80)
    for _, mark in ipairs(marks) do
      local length = #lines[mark.line + 1]
      assert(mark.from <= length and mark.to <= length and (mark.to < 0 or mark.from < mark.to))
    end
  end
end)

minimal.it('a fence is closed only by one of its own kind', function()
  local body = at_once('```lua\n~~~\n``` x\n```\nafter')
  minimal.equal(body.code, { true, true, true, true })
end)

minimal.finish()
