-- Blocks added, changed and taken away, and the record of that for whoever draws them.

local M = {}

---@param conversation smith.Conversation
---@param changed smith.Changed
---@param block smith.Block
---@return smith.Block
function M.add(conversation, changed, block)
  M.end_thinking(conversation, changed)
  table.insert(conversation.blocks, block)
  table.insert(changed.blocks, block)
  return block
end

---@param changed smith.Changed
---@param block smith.Block?
function M.touch(changed, block)
  if block then
    table.insert(changed.blocks, block)
  end
end

---@param conversation smith.Conversation
---@param changed smith.Changed
---@param gone table<smith.Block, true>
function M.remove(conversation, changed, gone)
  local kept = {}
  for _, block in ipairs(conversation.blocks) do
    table.insert(gone[block] and changed.removed or kept, block)
  end
  conversation.blocks = kept
end

---@param conversation smith.Conversation
---@param changed smith.Changed
---@param level string
---@param text string
function M.notice(conversation, changed, level, text)
  local last = conversation.blocks[#conversation.blocks]
  -- A failure may come as an error and again as the end of the turn.
  if last and last.kind == 'notice' and last.text == text then
    return
  end
  M.add(conversation, changed, { kind = 'notice', level = level, text = text })
end

--- The line about a compaction that went on says `text` from now on.
---@param conversation smith.Conversation
---@param changed smith.Changed
---@param text string
---@return boolean whether there was one
function M.end_compacting(conversation, changed, text)
  local line = conversation.compacting
  if line then
    line.text, conversation.compacting = text, nil
    M.touch(changed, line)
  end
  return line ~= nil
end

---@param conversation smith.Conversation
---@param changed smith.Changed
function M.end_thinking(conversation, changed)
  local last = conversation.blocks[#conversation.blocks]
  if last and last.kind == 'thinking' and not last.done then
    last.done = true
    M.touch(changed, last)
  end
end

return M
