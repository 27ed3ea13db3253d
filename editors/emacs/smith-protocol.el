;;; smith-protocol.el --- Names on the wire  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Made by tools/gen_protocol.py from smith_server/lsp/protocol.py; edit that file, not this one.
;; Requires nothing, and must not.

;;; Code:

(defconst smith-protocol-version 1
  "Version of the protocol.")

(defconst smith-protocol-method-apply-edit 'smith/applyEdit
  "Name of the method `smith/applyEdit'.")

(defconst smith-protocol-method-change-state 'smith/changeState
  "Name of the method `smith/changeState'.")

(defconst smith-protocol-method-edit-done 'smith/editDone
  "Name of the method `smith/editDone'.")

(defconst smith-protocol-method-event 'smith/event
  "Name of the method `smith/event'.")

(defconst smith-protocol-method-flushed 'smith/flushed
  "Name of the method `smith/flushed'.")

(defconst smith-protocol-method-read-buffer 'smith/readBuffer
  "Name of the method `smith/readBuffer'.")

(defconst smith-protocol-method-save-buffers 'smith/saveBuffers
  "Name of the method `smith/saveBuffers'.")

(defconst smith-protocol-method-withdraw-edit 'smith/withdrawEdit
  "Name of the method `smith/withdrawEdit'.")

(defconst smith-protocol-command-answer "smith.answer"
  "Name of the command `smith.answer'.")

(defconst smith-protocol-command-cancel "smith.cancel"
  "Name of the command `smith.cancel'.")

(defconst smith-protocol-command-complete "smith.complete"
  "Name of the command `smith.complete'.")

(defconst smith-protocol-command-conversations "smith.conversations"
  "Name of the command `smith.conversations'.")

(defconst smith-protocol-command-inspect "smith.inspect"
  "Name of the command `smith.inspect'.")

(defconst smith-protocol-command-jobs "smith.jobs"
  "Name of the command `smith.jobs'.")

(defconst smith-protocol-command-prompt "smith.prompt"
  "Name of the command `smith.prompt'.")

(defconst smith-protocol-command-queue "smith.queue"
  "Name of the command `smith.queue'.")

(defconst smith-protocol-command-slash "smith.slash"
  "Name of the command `smith.slash'.")

(defconst smith-protocol-command-status "smith.status"
  "Name of the command `smith.status'.")

(defconst smith-protocol-command-steer "smith.steer"
  "Name of the command `smith.steer'.")

(defconst smith-protocol-command-turn "smith.turn"
  "Name of the command `smith.turn'.")

(provide 'smith-protocol)
;;; smith-protocol.el ends here
