-- Highlight groups of the chat, each linked to one that every colour scheme has.

local M = {}

local LINKS = {
  SmithAdded = 'Added',
  SmithCode = 'String',
  SmithCodeBlock = 'String',
  SmithDetail = 'Comment',
  SmithFailed = 'DiagnosticError',
  SmithHeading = 'Title',
  SmithHint = 'MoreMsg',
  SmithHunk = 'Special',
  SmithInfo = 'Comment',
  SmithLink = 'Underlined',
  SmithList = 'Special',
  SmithOk = 'DiagnosticOk',
  SmithOutput = 'Comment',
  SmithPrompt = 'Statement',
  SmithQuestion = 'WarningMsg',
  SmithQuote = 'Comment',
  SmithRemoved = 'Removed',
  SmithRule = 'WinSeparator',
  SmithRunning = 'DiagnosticInfo',
  SmithThinking = 'Comment',
  SmithTool = 'Function',
  SmithWarning = 'WarningMsg',
}

--- Defines the groups that a colour scheme has not.
function M.define()
  for group, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = target, default = true })
  end
  vim.api.nvim_set_hl(0, 'SmithStrong', { bold = true, default = true })
end

return M
