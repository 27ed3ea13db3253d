-- Loaded by `tools/try nvim` after the user's own configuration: plug-in managers may have reset 'runtimepath'.
local repo = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)))

vim.opt.runtimepath:prepend(repo .. '/editors/nvim')
vim.cmd.runtime({ 'plugin/smith.lua', bang = true })
pcall(vim.cmd.helptags, repo .. '/editors/nvim/doc')
require('smith').setup({ cmd = { repo .. '/.venv/bin/smith', 'serve' } })
vim.cmd('Smith')
