-- Names on the wire. Plain constants, so that they can be made from the server's own table.

return {
  version = 1,

  method = {
    apply_edit = 'smith/applyEdit',
    change_state = 'smith/changeState',
    edit_done = 'smith/editDone',
    event = 'smith/event',
    flushed = 'smith/flushed',
    read_buffer = 'smith/readBuffer',
    save_buffers = 'smith/saveBuffers',
    withdraw_edit = 'smith/withdrawEdit',
  },

  command = {
    answer = 'smith.answer',
    cancel = 'smith.cancel',
    conversations = 'smith.conversations',
    inspect = 'smith.inspect',
    slash = 'smith.slash',
    status = 'smith.status',
    turn = 'smith.turn',
  },
}
