-- Growing text as lines, and which of them are code. An append touches the last line and what follows it.

local M = {}

---@class smith.Lines
---@field lines string[] the last one is still growing
---@field code table<integer, boolean> lines inside a fence, the fences themselves included
---@field fence string? what opened the fence that the last line stands in
---@field version integer grows when lines that were there are rewritten

---@return smith.Lines
function M.new()
  return { lines = { '' }, code = {}, fence = nil, version = 0 }
end

---@param line string
---@return string? marker of a fence that begins here
local function opens(line)
  return line:match('^ ? ? ?(```+)[^`]*$') or line:match('^ ? ? ?(~~~+)')
end

---@param line string
---@param fence string
---@return boolean
local function closes(line, fence)
  local marker = line:match('^ ? ? ?([`~]+)%s*$')
  return marker ~= nil and #marker >= #fence and marker == fence:sub(1, 1):rep(#marker)
end

-- A line that is whole decides whether the next one is code.
---@param self smith.Lines
---@param index integer
local function close_line(self, index)
  local line = self.lines[index]
  if not self.fence then
    self.fence = opens(line)
    self.code[index] = self.fence ~= nil or nil
  else
    self.code[index] = true
    if closes(line, self.fence) then
      self.fence = nil
    end
  end
end

---@param self smith.Lines
---@param text string
function M.append(self, text)
  local from = 1
  while true do
    local at = text:find('\n', from, true)
    local count = #self.lines
    self.lines[count] = self.lines[count] .. text:sub(from, (at or 0) - 1)
    if not at then
      self.code[count] = self.fence ~= nil or nil
      return
    end
    close_line(self, count)
    self.lines[count + 1] = ''
    from = at + 1
  end
end

--- First and last line that are not blank; models like to begin and end with empty ones.
---@param self smith.Lines
---@return integer first, integer last
function M.span(self)
  local first, last = 1, #self.lines
  while last > 1 and not self.lines[last]:find('%S') do
    last = last - 1
  end
  while first < last and not self.lines[first]:find('%S') do
    first = first + 1
  end
  return first, last
end

---@param self smith.Lines
---@return string
function M.text(self)
  return table.concat(self.lines, '\n')
end

---@param self smith.Lines
---@param text string
function M.replace(self, text)
  self.lines, self.code, self.fence = { '' }, {}, nil
  self.version = self.version + 1
  M.append(self, text)
end

return M
