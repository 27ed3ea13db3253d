-- The public functions of the plugin. Each loads what it needs when it is called.

local M = {}

---@return table
local function actions()
  return require('smith.actions')
end

--- Takes settings over the defaults; see |smith-settings|. Without it the defaults hold.
---@param opts table?
function M.setup(opts)
  for _, problem in ipairs(require('smith.config').setup(opts)) do
    require('smith.log').tell('setup: ' .. problem, 'warn')
  end
end

--- Opens the chat of the project of the current buffer.
function M.open()
  actions().open()
end

function M.close()
  actions().close()
end

function M.toggle()
  actions().toggle()
end

--- Sends `text` to the agent together with the current file.
---@param text string
function M.send(text)
  actions().send(text)
end

--- Stops the running turn.
function M.cancel()
  actions().cancel()
end

--- Answers the oldest open question.
---@param decision 'yes'|'no'|'always'|'quit'
---@param feedback string? told to the model
function M.answer(decision, feedback)
  actions().answer(decision, feedback)
end

--- One line about the agent of the current project, for a status line.
---@return string
function M.status()
  return actions().status()
end

return M
