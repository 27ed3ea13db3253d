;;; smith.el --- A coding agent that edits your open buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience

;;; Commentary:

;; The entry: options and commands.  `smith-start' starts the server for the
;; project of the current buffer; its edits land in open, unsaved buffers,
;; guarded, and as one undo step each.
;;
;; Requires `smith-protocol' and `smith-session' of this package, and must not
;; require more.

;;; Code:

(require 'smith-protocol)
(require 'smith-session)

(defgroup smith nil
  "A coding agent that edits your open buffers."
  :group 'tools
  :prefix "smith-")

(defcustom smith-command '("smith" "serve")
  "Program that is the server, and its arguments."
  :type '(repeat string))

;;;###autoload
(defun smith-start ()
  "Start the server for the project of this buffer, if it is not there."
  (interactive)
  (smith-session-start (smith-session-project) smith-command))

(defun smith-stop ()
  "Ask the server for the project of this buffer to leave."
  (interactive)
  (let ((session (smith-session-get (smith-session-project))))
    (when session
      (smith-session-stop session))))

(defun smith-cancel ()
  "Stop what the agent does in the project of this buffer."
  (interactive)
  (let ((session (smith-session-get (smith-session-project))))
    (unless session
      (user-error "No server runs for this project"))
    (smith-session-command session smith-protocol-command-cancel nil
                           #'smith--cancelled)))

(defun smith--cancelled (result problem)
  "Tell the RESULT or the PROBLEM of a cancel."
  (message "smith: %s"
           (cond
            (problem (plist-get problem :message))
            ((eq (plist-get result :cancelled) t) "cancelled")
            (t "nothing was running"))))

(provide 'smith)
;;; smith.el ends here
