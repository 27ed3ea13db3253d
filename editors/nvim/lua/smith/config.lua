-- The settings and their defaults. Knows nothing of the rest of the plugin.

local M = {}

---@class smith.Config
---@field cmd string[] the server, started like any language server
---@field env table<string, string> added to the environment of the server
---@field init_options table<string, any> settings of the server for this Neovim alone
---@field position 'right'|'left'|'bottom'|'top'|'current' where the chat opens
---@field size number columns or rows of the chat; below 1 a share of the screen
---@field start_insert boolean go to insert mode when the chat opens
---@field fold_calls boolean close the folds over tool output and thinking
---@field keys table<string, string|false> keys of the chat buffer by the name of what they do
---@field log_level 'debug'|'info'|'warn'|'error'
M.defaults = {
  cmd = { 'smith', 'serve', '--stdio' },
  env = {},
  init_options = {},
  position = 'right',
  size = 0.42,
  start_insert = true,
  fold_calls = true,
  keys = {
    send = '<CR>',
    send_insert = '<C-s>',
    cancel = '<C-c>',
    complete = '<Tab>',
    older = '<C-p>',
    newer = '<C-n>',
    yes = 'y',
    no = 'n',
    always = 'a',
    close = 'q',
    help = 'g?',
  },
  log_level = 'info',
}

---@type smith.Config
M.values = vim.deepcopy(M.defaults)

---@param name string
---@param value any
---@param default any
---@return string? problem
local function problem_of(name, value, default)
  if default == nil then
    return ('%s is no setting (see :help smith-settings)'):format(name)
  end
  if type(value) ~= type(default) then
    return ('%s must be a %s, not a %s'):format(name, type(default), type(value))
  end
end

---@param keys table<string, any>
---@return table<string, string|false> good
---@return string[] problems
local function check_keys(keys)
  local good, problems = {}, {}
  for name, key in pairs(keys) do
    if M.defaults.keys[name] == nil then
      problems[#problems + 1] = ('keys.%s is no key of the chat (see :help smith-settings)'):format(name)
    elseif key ~= false and type(key) ~= 'string' then
      problems[#problems + 1] = ('keys.%s must be a string or false'):format(name)
    else
      good[name] = key
    end
  end
  return good, problems
end

--- Takes `opts` over the defaults; a bad value is named and its default holds.
---@param opts table?
---@return string[] problems one sentence each
function M.setup(opts)
  local good, problems = {}, {}
  for name, value in pairs(opts or {}) do
    local problem = problem_of(name, value, M.defaults[name])
    if problem then
      problems[#problems + 1] = problem
    else
      good[name] = value
    end
  end
  local keys, bad_keys = check_keys(good.keys or {})
  good.keys = keys
  vim.list_extend(problems, bad_keys)
  M.values = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), good)
  table.sort(problems)
  return problems
end

return M
