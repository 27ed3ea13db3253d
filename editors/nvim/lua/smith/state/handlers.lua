-- What each kind of event does to a conversation: kind -> function(conversation, event, changed).
-- `changed` collects the blocks that must be drawn again.

local beside = require('smith.state.beside')
local calls = require('smith.state.calls')
local turns = require('smith.state.turns')

return {
  of_turn = vim.tbl_extend('error', turns, calls.of_turn, beside),
  of_child = calls.of_child,
  place = calls.place,
}
