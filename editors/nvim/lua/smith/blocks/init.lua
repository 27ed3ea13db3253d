-- Blocks as lines: which renderer draws which kind, and what stands between two blocks.

local M = {}

---@class smith.Renderer
---@field render fun(block: smith.Block, width: integer, from: integer?): string[], smith.Mark[], integer?

---@type table<string, smith.Renderer>
local RENDERERS = {
  approval = require('smith.blocks.approval'),
  call = require('smith.blocks.call'),
  notice = require('smith.blocks.notice'),
  prompt = require('smith.blocks.prompt'),
  text = require('smith.blocks.text'),
  thinking = require('smith.blocks.thinking'),
}

-- They belong together: no blank line between them.
local WORK = { approval = true, call = true, thinking = true }

---@param block smith.Block
---@return boolean
local function is_work(block)
  return WORK[block.kind] or (block.kind == 'notice' and block.level == 'quiet')
end

--- Blank lines in front of `block`.
---@param previous smith.Block?
---@param block smith.Block
---@return integer
function M.gap(previous, block)
  if not previous or (is_work(previous) and is_work(block)) then
    return 0
  end
  return 1
end

--- Whether only the end of `block` can change, so that `render` may start in the middle.
---@param block smith.Block
---@return boolean
function M.grows(block)
  return block.kind == 'text' or block.kind == 'thinking'
end

--- Whether everything but the head of `block` is folded away. Such a block does not change any more.
---@param block smith.Block
---@return boolean
function M.folds(block)
  return (block.kind == 'call' and block.status ~= 'running') or (block.kind == 'thinking' and block.done == true)
end

---@param block smith.Block
---@param width integer
---@param from integer? first line that is wanted, from 1
---@return string[] lines, smith.Mark[] marks, integer? head lines that stay when the rest is folded, else 1
function M.render(block, width, from)
  return RENDERERS[block.kind].render(block, width, from)
end

--- The whole as it stands in a chat buffer.
---@param blocks smith.Block[]
---@param width integer
---@return string[]
function M.lines(blocks, width)
  local all = {}
  for i, block in ipairs(blocks) do
    for _ = 1, M.gap(blocks[i - 1], block) do
      all[#all + 1] = ''
    end
    vim.list_extend(all, (M.render(block, width)))
  end
  return all
end

return M
