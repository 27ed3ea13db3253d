-- Made by tools/gen_protocol.py from smith_server/lsp/protocol.py; edit that file, not this one.

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
    complete = 'smith.complete',
    conversations = 'smith.conversations',
    inspect = 'smith.inspect',
    jobs = 'smith.jobs',
    prompt = 'smith.prompt',
    queue = 'smith.queue',
    slash = 'smith.slash',
    status = 'smith.status',
    steer = 'smith.steer',
    turn = 'smith.turn',
  },
}
