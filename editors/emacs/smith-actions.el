;;; smith-actions.el --- What a person can do  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The commands: opening a chat, sending, cancelling.
;;
;; Requires `smith-block', `smith-chat', `smith-complete', `smith-context',
;; `smith-input', `smith-pager', `smith-part', `smith-protocol',
;; `smith-session', `smith-text' and `smith-touched' of this package, and must
;; not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'smith-block)
(require 'smith-chat)
(require 'smith-complete)
(require 'smith-context)
(require 'smith-input)
(require 'smith-pager)
(require 'smith-part)
(require 'smith-protocol)
(require 'smith-session)
(require 'smith-text)
(require 'smith-touched)

;;; Opening and ending

(defun smith-actions--chat (session)
  "Return the chat buffer of SESSION, with all that follows the session."
  (unless (memq #'smith-touched-follow (smith-session-listeners session))
    (smith-session-listen session #'smith-touched-follow))
  (with-current-buffer (smith-chat-buffer session)
    (add-hook 'post-command-hook #'smith-complete-watch nil t)
    (current-buffer)))

;;;###autoload
(defun smith ()
  "Open the chat of the project of this buffer and go to its prompt."
  (interactive)
  (let ((session (smith-session-here)))
    (smith-actions--chat session)
    (smith-session-start session)
    (smith-chat-open session)
    (goto-char (max (point) smith-input-start))))

;;;###autoload
(defun smith-start ()
  "Start the server for the project of this buffer, if it is not there.
Return the session of the project."
  (interactive)
  (let ((session (smith-session-here)))
    (smith-session-start session)
    session))

(defun smith-stop ()
  "Ask the server for the project of this buffer to leave.
It starts again when it is needed."
  (interactive)
  (smith-session-stop (smith-session-here)))

;;; Sending

(defun smith-actions--failed (session text problem)
  "Tell PROBLEM in SESSION: TEXT, which was typed, was not taken.
It goes back where it came from."
  (let ((turn (and (smith-session-talk session)
                   (smith-talk-turn (smith-session-talk session))))
        (prompt (smith-input-spoken text)))
    (unless (equal (nth 2 turn) prompt)
      (with-current-buffer (smith-actions--chat session)
        (smith-input-offer prompt)))
    (smith-session-take session (list :kind "agent_error"
                                      :error (list :message problem)))))

(defun smith-actions--shown (session)
  "Return the argument that names the talk of SESSION in sight, or nil."
  (let ((id (smith-session-shown-id session)))
    (and id (list :conversation id))))

(defun smith-actions--turn (session text context)
  "Let the agent of SESSION work on TEXT, which was typed, with CONTEXT."
  (cl-incf (smith-session-asked session))
  (smith-session-command
   session smith-protocol-command-turn
   (append (list :text (smith-text-clean (smith-input-spoken text)))
           (smith-actions--shown session)
           (and context (list :context (smith-context-on-wire context))))
   (lambda (result problem)
     (cl-decf (smith-session-asked session))
     (cond
      (problem
       (smith-actions--failed session text (smith-session-problem problem)))
      ((plist-get result :error)
       (smith-session-take session (list :kind "agent_error"
                                         :error (plist-get result :error))))))))

(defun smith-actions--slash (session line)
  "Run LINE, a command, in SESSION.
Where it leads to another conversation, that one is shown first and the answer
stands in it."
  (smith-session-command
   session smith-protocol-command-slash
   (append (list :line (smith-text-clean line)) (smith-actions--shown session))
   (lambda (result problem)
     (let* ((answer (if problem
                        (list :error (list :message (smith-session-problem problem)))
                      result))
            (id (and (not (plist-get answer :error))
                     (plist-get (plist-get answer :data) :conversation))))
       (if (stringp id)
           (smith-session-go-to session id
                                (lambda () (smith-actions--show session line answer)))
         (smith-actions--show session line answer))))))

(defun smith-actions--show (session line answer)
  "Show ANSWER to the command LINE in SESSION."
  (let* ((failed (plist-get (plist-get answer :error) :message))
         (text (or failed (plist-get answer :text)))
         (page (plist-get answer :ui)))
    (smith-session-take session
                        (list :kind "local_answer" :line line
                              :level (if failed "error" "info")
                              :text (and (stringp text) (or failed (not (equal text "")))
                                         text)))
    (when (equal (plist-get page :type) "pager")
      (smith-pager-open page))
    (when (and (not failed) (eq (plist-get (plist-get answer :data) :quit) t))
      (quit-windows-on (smith-actions--chat session)))))

(defun smith-actions--submit (session text context)
  "Send TEXT, which was typed, to SESSION with CONTEXT, or run it as a command."
  (with-current-buffer (smith-actions--chat session)
    (setq smith-chat-sent t))
  (if (smith-input-command-p text)
      (smith-actions--slash session text)
    (smith-actions--turn session text context)))

(defun smith-send-prompt ()
  "Send what is typed in this chat."
  (interactive)
  (let ((text (smith-input-take))
        (context (or smith-chat-context (smith-context-beside smith-chat-session))))
    (unless (equal text "")
      (setq smith-chat-context nil)
      (smith-chat-refresh)
      (smith-actions--submit smith-chat-session text context))))

;;;###autoload
(defun smith-send (text)
  "Send TEXT together with the active region, else with the file of this buffer.
The chat is shown, but not gone to."
  (interactive "sPrompt: ")
  (when (string-blank-p text)
    (user-error "There is nothing to send"))
  (let* ((session (smith-session-here))
         (context (or (smith-context-here) (smith-context-beside session)))
         (chat (smith-actions--chat session)))
    (deactivate-mark)
    (smith-chat-show chat)
    (with-current-buffer chat
      (smith-input-remember text))
    (smith-actions--submit session text context)))

;;;###autoload
(defun smith-steer (text)
  "Say TEXT to the running turn: the model hears it with its next request.
Without a running turn it is a prompt."
  (interactive "sSay: ")
  (when (string-blank-p text)
    (user-error "There is nothing to say"))
  (let ((session (smith-session-here)))
    (smith-session-command
     session smith-protocol-command-steer
     (append (list :text (smith-text-clean text)) (smith-actions--shown session))
     (lambda (_result problem)
       (when problem
         (smith-actions--failed session text (smith-session-problem problem)))))))

;;;###autoload
(defun smith-attach ()
  "Let the active region, else the file of this buffer, go with the next prompt.
Then go to the prompt."
  (interactive)
  (let ((context (or (smith-context-here)
                     (user-error "This buffer visits no file of this machine"))))
    (deactivate-mark)
    (smith)
    (setq smith-chat-context context)
    (smith-chat-refresh)))

;;; Cancelling

(defun smith-actions--cancel (session)
  "Stop what the agent does in SESSION."
  (smith-session-command
   session smith-protocol-command-cancel (smith-actions--shown session)
   (lambda (result problem)
     (cond
      (problem
       (message "smith: not cancelled: %s" (smith-session-problem problem)))
      ((not (seq-empty-p (plist-get result :unknown)))
       (message "smith: cancelled; what became of some edits is not known, \
look at them"))
      (t
       (message "smith: %s" (if (eq (plist-get result :cancelled) t)
                                "cancelled"
                              "nothing was running")))))))

;;;###autoload
(defun smith-cancel ()
  "Stop the running turn: of this buffer's project, else all others."
  (interactive)
  (let* ((here (smith-session-here))
         (running (if (smith-session-busy-p here)
                      (list here)
                    (seq-filter #'smith-session-busy-p (smith-session-all)))))
    (if running
        (mapc #'smith-actions--cancel running)
      (message "smith: nothing is running"))))

;;; Conversations

(defun smith-actions--conversation (op)
  "Do OP with the conversation that is shown; show the one that this leads to."
  (let* ((session (smith-session-here))
         (shown (or (smith-actions--shown session)
                    (user-error "There is no conversation"))))
    (smith-session-command
     session smith-protocol-command-conversations (append (list :op op) shown)
     (lambda (result problem)
       (cond
        (problem
         (message "smith: %s" (smith-session-problem problem)))
        ((plist-get result :conversation)
         (smith-session-go-to session (plist-get result :conversation) #'ignore)))))))

;;;###autoload
(defun smith-take-over ()
  "Go on here with the conversation, which another Emacs or a terminal has open.
It is read-only there from then on."
  (interactive)
  (smith-actions--conversation "take_over"))

;;;###autoload
(defun smith-fork ()
  "Go on in a copy of the conversation."
  (interactive)
  (smith-actions--conversation "fork"))

;;;###autoload
(defun smith-delete ()
  "Remove the conversation for good."
  (interactive)
  (when (yes-or-no-p "Delete this conversation for good? ")
    (smith-actions--conversation "delete")))

;;; Keys of the chat

(defun smith-return ()
  "Send the prompt; above it, open or fold what is at point, else go to the prompt."
  (interactive)
  (cond
   ((smith-input-at-point-p) (smith-send-prompt))
   ((smith-actions--older-at-point-p) (smith-older-page))
   ((not (smith-block-toggle (point))) (goto-char (point-max)))))

(defun smith-tab ()
  "Complete what is typed; above it, open or fold what is at point."
  (interactive)
  (cond
   ((smith-input-at-point-p) (completion-at-point))
   ((not (smith-block-toggle (point))) (user-error "Nothing is folded here"))))

(defun smith-actions--older-at-point-p ()
  "Return non-nil if point is on the word that an older page is stored."
  (let ((talk (smith-session-talk smith-chat-session))
        (part (smith-block-at (point))))
    (and talk part (smith-talk-before talk)
         (eq part (car (last (smith-talk-parts talk)))))))

(defun smith-older-page ()
  "Show the stored page before the first one of this chat."
  (interactive)
  (let ((session (smith-session-here)))
    (unless (and (smith-session-talk session)
                 (smith-talk-before (smith-session-talk session)))
      (user-error "That is all"))
    (smith-session-older
     session
     (lambda (parts removed problem)
       (if problem
           (message "smith: %s" (smith-session-problem problem))
         (with-current-buffer (smith-actions--chat session)
           (smith-chat-prepend parts removed)))))))

(provide 'smith-actions)
;;; smith-actions.el ends here
