;;; smith-session.el --- One project, its server and its talks  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is a project root with its connection, the edits that its server
;; asks for, and what its events add up to.  It tells the parts below of each
;; other, and is what everything above sends commands through.  A server that
;; ends leaves the session; the next command starts another.  Shows nothing.
;;
;; Requires `smith-buffers', `smith-changes', `smith-edit', `smith-options',
;; `smith-part', `smith-protocol', `smith-reload', `smith-rpc',
;; `smith-sequence', `smith-state' and `smith-sync' of this package, and must
;; not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-buffers)
(require 'smith-changes)
(require 'smith-edit)
(require 'smith-options)
(require 'smith-part)
(require 'smith-protocol)
(require 'smith-reload)
(require 'smith-rpc)
(require 'smith-sequence)
(require 'smith-state)
(require 'smith-sync)

(cl-defstruct (smith-session (:constructor smith-session--make) (:copier nil))
  "What belongs to the project at ROOT.
CONNECTION is nil while no server runs; EDITS and CHANGES are those of the
connection.  STATE is what the events add up to, SEQUENCE puts them in order.
ASKED counts prompts that the server has not answered, TOUCHED are the buffers
that the running turn has changed.  LISTENERS are functions, oldest first, that
get the session, an event and what it changed, or nil twice for anything."
  root connection edits changes sequence (state (smith-state-new)) (asked 0)
  touched listeners)

(defvar smith-session--all nil
  "The sessions, as an alist from root to session.")

;;; Which session

(defun smith-session-project ()
  "Return the root of the project that this buffer belongs to.
It is the nearest folder above with `.git' in it, else the current folder."
  (file-name-as-directory
   (file-truename (or (locate-dominating-file default-directory ".git")
                      default-directory))))

(defun smith-session-at (root)
  "Return the session at ROOT, made if there is none."
  (or (alist-get root smith-session--all nil nil #'equal)
      (let ((self (smith-session--make :root root)))
        (setf (smith-session-sequence self) (smith-session--sequence self))
        (push (cons root self) smith-session--all)
        self)))

(defun smith-session-here ()
  "Return the session of the project of this buffer."
  (smith-session-at (smith-session-project)))

(defun smith-session-all ()
  "Return all sessions."
  (mapcar #'cdr smith-session--all))

;;; What it is

(defun smith-session-talk (self)
  "Return the talk of SELF that is shown, nil if there is none."
  (smith-state-shown (smith-session-state self)))

(defun smith-session-shown-id (self)
  "Return the id of the talk of SELF that is shown.
It is nil where the server has none of that name."
  (let ((talk (smith-session-talk self)))
    (and talk
         (not (smith-talk-gone talk))
         (not (string-empty-p (smith-talk-id talk)))
         (smith-talk-id talk))))

(defun smith-session-running-p (self)
  "Return non-nil if SELF has a running turn."
  (let ((talk (smith-session-talk self)))
    (and talk (smith-talk-running-p talk))))

(defun smith-session-busy-p (self)
  "Return non-nil if there is something to cancel in SELF."
  (or (> (smith-session-asked self) 0) (smith-session-running-p self)))

(defun smith-session-link (self)
  "Return the state of the connection of SELF: `none', `starting' or `ready'."
  (let ((connection (smith-session-connection self)))
    (if connection (smith-rpc-state connection) 'none)))

(defun smith-session-listen (self listener)
  "Let LISTENER know from now on what happens in SELF."
  (setf (smith-session-listeners self)
        (append (smith-session-listeners self) (list listener))))

(defun smith-session--tell (self event changed)
  "Tell the listeners of SELF of EVENT and what it CHANGED, nil for anything."
  (dolist (listener (smith-session-listeners self))
    (funcall listener self event changed)))

;;; Commands

(defun smith-session-start (self)
  "Start a server for SELF if there is none; return the connection.
Signals an error if the program cannot be run."
  (or (smith-session-connection self)
      (let ((notify (lambda (method params) (smith-session--notify self method params))))
        (setf (smith-session-changes self) (smith-changes-new notify)
              (smith-session-edits self)
              (smith-edit-new notify (lambda (change hunks)
                                       (smith-session--applied self change hunks)))
              (smith-session-connection self)
              (smith-rpc-start (smith-session-root self) smith-command
                               :serve (smith-session--serve self)
                               :on-ready (lambda (connection)
                                           (smith-session--ready self connection))
                               :on-end (lambda (connection reason)
                                         (smith-session--ended self connection reason))))
        (smith-session--tell self nil nil)
        (smith-session-connection self))))

(defun smith-session-stop (self)
  "Ask the server of SELF to leave."
  (when (smith-session-connection self)
    (smith-rpc-stop (smith-session-connection self))))

(defun smith-session-command (self command argument callback)
  "Run COMMAND of the server of SELF with ARGUMENT, a plist; never wait.
A server is started if none runs, and gets what was typed first.  CALLBACK is
called once, with the result and nil, or with nil and a plist
\(:code :message :data)."
  (let ((connection (condition-case problem
                        (smith-session-start self)
                      (error
                       (funcall callback nil
                                (list :code -1 :message (error-message-string problem)))
                       nil))))
    (when connection
      (smith-sync-flush-all)
      (smith-changes-look-all (smith-session-changes self))
      (smith-rpc-command connection command argument callback))))

(defun smith-session-supports-p (self command)
  "Return non-nil if SELF has a server with COMMAND."
  (let ((connection (smith-session-connection self)))
    (and connection (smith-rpc-supports-p connection command))))

(defun smith-session-problem (problem)
  "Return in words what PROBLEM is, an error that a command was answered with."
  (or (plist-get (plist-get problem :data) :message)
      (plist-get problem :message)
      "the server gave an error"))

(defun smith-session-go-to (self id done)
  "Let SELF show the conversation ID as the server has it, then call DONE."
  (smith-state-show (smith-session-state self) id)
  (smith-sequence-load (smith-session-sequence self) done))

(defun smith-session-older (self callback)
  "Fetch the stored page before the one that is shown in SELF.
Call CALLBACK with the parts that are new, oldest first, and those that are
gone, or with nil, nil and a problem."
  (let ((talk (smith-session-talk self)))
    (smith-session-command
     self smith-protocol-command-conversations
     (list :op "page" :conversation (smith-talk-id talk)
           :before (smith-talk-before talk))
     (lambda (result problem)
       (if (or problem (not (eq talk (smith-session-talk self))))
           (funcall callback nil nil
                    (or problem '(:message "another conversation is shown now")))
         (let ((page (smith-state-page (smith-session-state self) result)))
           (funcall callback (car page) (cdr page) nil)))))))

;;; Events

(defun smith-session-take (self event)
  "Take EVENT, of the server or of our own, into SELF."
  (let ((changed (smith-state-reduce (smith-session-state self) event)))
    (when (equal (plist-get event :kind) "files_changed")
      (smith-reload-take-in (smith-session-root self) (plist-get event :paths)))
    (unless (smith-session-running-p self)
      (setf (smith-session-touched self) nil))
    (smith-session--tell self event changed)
    (when (or (and (smith-changed-switched changed) (eq (plist-get event :resumed) t))
              (and (equal (plist-get event :change) "rewritten")
                   (eq (smith-changed-talk changed) (smith-session-talk self))))
      (smith-sequence-load (smith-session-sequence self)))))

(defun smith-session--sequence (self)
  "Return what puts the events of SELF in order."
  (smith-sequence-new
   :pass (lambda (event) (smith-session-take self event))
   :stored (lambda (result problem) (smith-session--stored self result problem))
   :ask (lambda (command argument callback)
          (when (smith-session-supports-p self command)
            (smith-session-command self command argument callback)
            t))
   :shown (lambda () (smith-session-shown-id self))))

(defun smith-session--stored (self result problem)
  "Take RESULT, a stored conversation, into SELF, or tell PROBLEM."
  (let ((id (plist-get result :conversation)))
    (when problem
      (when (and (equal (plist-get (plist-get problem :data) :code) "not_found")
                 (smith-session-talk self))
        ;; The next prompt goes to another one.
        (setf (smith-talk-gone (smith-session-talk self)) t))
      (message "smith: the conversation could not be loaded: %s"
               (smith-session-problem problem)))
    (when id
      (setf (smith-talk-holder (smith-state-load (smith-session-state self) result))
            (plist-get result :holder)))
    (smith-session--tell self nil nil)
    (when (and id (plist-get result :holder))
      (smith-session--tell-holder self (plist-get result :holder)))))

(defun smith-session--tell-holder (self holder)
  "Say in SELF that HOLDER has the conversation open."
  (smith-session-take
   self (list :kind "notice" :level "warning"
              :text (format "This conversation is open elsewhere (%s) and is shown \
read-only; M-x smith-take-over and M-x smith-fork go on with it."
                            (or (if (stringp holder) holder (plist-get holder :face))
                                "another smith")))))

;;; The connection

(defun smith-session--notify (self method params)
  "Send the notification METHOD with PARAMS to the server of SELF, if there is one."
  (when (smith-session-connection self)
    (smith-rpc-notify (smith-session-connection self) method params)))

(defun smith-session--applied (self change hunks)
  "Note that CHANGE with HUNKS has just been made in this buffer for SELF."
  (smith-changes-track (smith-session-changes self) change hunks)
  (when (smith-session-running-p self)
    (cl-pushnew (current-buffer) (smith-session-touched self))
    (smith-session--tell self nil (smith-changed-new (smith-session-talk self) nil))))

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
                (lambda (event)
                  (smith-sequence-take (smith-session-sequence self) event)))
          (cons 'window/showMessage #'smith-session--show))))

(defun smith-session--show (params)
  "Show the message of the server in PARAMS."
  (message "smith: %s" (plist-get params :message)))

(defun smith-session--ready (self connection)
  "Take in that CONNECTION of SELF can be used."
  (smith-sync-start connection)
  (smith-sequence-load (smith-session-sequence self)))

(defun smith-session--ended (self connection reason)
  "Take in that CONNECTION of SELF has ended for REASON."
  (setf (smith-session-connection self) nil)
  (smith-edit-close (smith-session-edits self))
  (smith-changes-close (smith-session-changes self))
  (smith-sequence-restart (smith-session-sequence self))
  (smith-sync-stop connection)
  (unless (smith-rpc-stopping connection)
    (smith-session-take self (list :kind "local_server_ended" :text reason))
    (message "smith: %s; it starts again with your next prompt" reason))
  (smith-session--tell self nil nil))

(provide 'smith-session)
;;; smith-session.el ends here
