-- The command and the maps that a person may bind; nothing of the plugin is loaded before one is used.

if vim.g.loaded_smith then
  return
end
vim.g.loaded_smith = 1

vim.api.nvim_create_user_command('Smith', function(call)
  require('smith.commands').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'smith: chat with the agent, answer it, stop it',
  complete = function(lead, line)
    return require('smith.commands').complete(lead, line)
  end,
})

local function map(modes, name, action)
  vim.keymap.set(modes, '<Plug>(smith-' .. name .. ')', function()
    require('smith.actions')[action]()
  end, { desc = 'smith: ' .. name })
end

map('n', 'open', 'open')
map('n', 'toggle', 'toggle')
map('n', 'send', 'attach_buffer')
map('x', 'send', 'attach_selection')
map({ 'n', 'i', 'x', 't' }, 'cancel', 'cancel')
map('n', 'yes', 'yes')
map('n', 'no', 'no')
map('n', 'always', 'always')
