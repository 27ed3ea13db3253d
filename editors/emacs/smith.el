;;; smith.el --- A coding agent that edits your open buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience

;;; Commentary:

;; `M-x smith' opens a chat with an agent that reads your buffers as you see
;; them.  Its edits land in open, unsaved buffers, guarded, and as one undo
;; step each.  \\[describe-mode] in the chat shows its keys.
;;
;; The entry: loads all commands.
;;
;; Requires `smith-actions', `smith-approval', `smith-health', `smith-modeline'
;; and `smith-options' of this package, and must not require more.

;;; Code:

(require 'smith-actions)
(require 'smith-approval)
(require 'smith-health)
(require 'smith-modeline)
(require 'smith-options)

(provide 'smith)
;;; smith.el ends here
