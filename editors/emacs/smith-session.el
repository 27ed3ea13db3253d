;;; smith-session.el --- One project, its server and its edits  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is a project root with its connection and the edits that its
;; server asks for.  It tells the parts below of each other, and is what
;; everything above sends commands through.  Shows nothing.
;;
;; Requires `smith-buffers', `smith-edit', `smith-protocol', `smith-rpc' and
;; `smith-sync' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'smith-buffers)
(require 'smith-edit)
(require 'smith-protocol)
(require 'smith-rpc)
(require 'smith-sync)

(cl-defstruct (smith-session (:constructor smith-session--make) (:copier nil))
  "What belongs to the project at ROOT: its CONNECTION and its EDITS.
LISTENERS are functions that get every event of the server, oldest first."
  root connection edits listeners)

(defvar smith-session--all nil
  "The sessions whose server runs, as an alist from root to session.")

(defun smith-session-project ()
  "Return the root of the project that this buffer belongs to.
It is the nearest folder above with `.git' in it, else the current folder."
  (file-name-as-directory
   (file-truename (or (locate-dominating-file default-directory ".git")
                      default-directory))))

(defun smith-session-get (root)
  "Return the session at ROOT, nil if its server does not run."
  (alist-get root smith-session--all nil nil #'equal))

(defun smith-session-start (root command)
  "Return the session at ROOT, with a server started by COMMAND if there is none."
  (or (smith-session-get root)
      (let ((self (smith-session--make :root root)))
        (setf (smith-session-edits self) (smith-session--edits self)
              (smith-session-connection self)
              (smith-rpc-start root command
                               :serve (smith-session--serve self)
                               :on-ready #'smith-sync-start
                               :on-end (lambda (connection reason)
                                         (smith-session--ended
                                          self connection reason))))
        (push (cons root self) smith-session--all)
        self)))

(defun smith-session-stop (self)
  "Ask the server of SELF to leave."
  (smith-rpc-stop (smith-session-connection self)))

(defun smith-session-command (self command argument callback)
  "Run COMMAND of the server of SELF with ARGUMENT, a plist; never wait.
The server gets what was typed first.  CALLBACK is called once, with the result
and nil, or with nil and a plist (:code :message :data)."
  (smith-sync-flush-all)
  (smith-rpc-command (smith-session-connection self) command argument callback))

(defun smith-session-listen (self listener)
  "Call LISTENER with every event of the server of SELF from now on."
  (setf (smith-session-listeners self)
        (append (smith-session-listeners self) (list listener))))

(defun smith-session--edits (self)
  "Return new edits for SELF."
  (smith-edit-new (lambda (method params)
                    (smith-rpc-notify (smith-session-connection self)
                                      method params))))

(defun smith-session--serve (self)
  "Return what SELF does with each method of its server."
  (let ((edits (smith-session-edits self)))
    (list (cons smith-protocol-method-apply-edit
                (lambda (params) (smith-edit-handle edits params)))
          (cons smith-protocol-method-withdraw-edit
                (lambda (params) (smith-edit-withdraw edits params)))
          (cons smith-protocol-method-read-buffer #'smith-buffers-read)
          (cons smith-protocol-method-save-buffers #'smith-buffers-save)
          (cons smith-protocol-method-event
                (lambda (event) (smith-session--take self event)))
          (cons 'window/showMessage #'smith-session--show))))

(defun smith-session--take (self event)
  "Hand EVENT to the listeners of SELF."
  (dolist (listener (smith-session-listeners self))
    (funcall listener event)))

(defun smith-session--show (params)
  "Show the message of the server in PARAMS."
  (message "smith: %s" (plist-get params :message)))

(defun smith-session--ended (self connection reason)
  "Take in that CONNECTION of SELF has ended for REASON."
  (setq smith-session--all (delq (rassq self smith-session--all)
                                 smith-session--all))
  (smith-edit-close (smith-session-edits self))
  (smith-sync-stop connection)
  (unless (smith-rpc-stopping connection)
    (message "smith: %s" reason)))

(provide 'smith-session)
;;; smith-session.el ends here
