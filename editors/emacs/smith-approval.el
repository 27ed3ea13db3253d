;;; smith-approval.el --- Answers to the agent's questions  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question is answered by a key when point is on it, so that nothing that is
;; typed can answer it by accident, and by commands from anywhere.
;;
;; Requires `smith-block', `smith-chat', `smith-input', `smith-part',
;; `smith-protocol' and `smith-session' of this package, and must not require
;; more.

;;; Code:

(require 'seq)
(require 'smith-block)
(require 'smith-chat)
(require 'smith-input)
(require 'smith-part)
(require 'smith-protocol)
(require 'smith-session)

(defconst smith-approval--keys '((?y . "yes") (?n . "no") (?a . "always"))
  "Keys on a question and what they decide.")

(defun smith-approval--at-point ()
  "Return the id of the open question at point, nil if there is none."
  (let ((part (and (derived-mode-p 'smith-chat-mode) (smith-block-at (point)))))
    (and (smith-part-question-p part)
         (not (smith-part-question-decision part))
         (smith-part-question-id part))))

(defun smith-approval--oldest ()
  "Return a session with a question and the id of its oldest one, as a cons.
The session of this buffer comes first.  Return nil if nothing is asked."
  (seq-some (lambda (session)
              (let ((talk (smith-session-talk session)))
                (and talk (smith-talk-asking talk)
                     (cons session (car (smith-talk-asking talk))))))
            (cons (smith-session-here) (smith-session-all))))

(defun smith-approval-answer (decision &optional feedback)
  "Answer the question at point, else the oldest one, with DECISION.
That is \"yes\", \"no\", \"always\" or \"quit\".  The model is told FEEDBACK."
  (let* ((id (smith-approval--at-point))
         (asked (if id (cons smith-chat-session id) (smith-approval--oldest))))
    (unless asked
      (user-error "Nothing is asked"))
    (smith-session-command
     (car asked) smith-protocol-command-answer
     (append (list :id (cdr asked) :decision decision)
             (and feedback (not (string-empty-p feedback)) (list :feedback feedback)))
     (lambda (_result problem)
       (when problem
         (message "smith: not answered: %s" (smith-session-problem problem)))))))

;;;###autoload
(defun smith-yes ()
  "Allow what the agent asks about."
  (interactive)
  (smith-approval-answer "yes"))

;;;###autoload
(defun smith-no (&optional feedback)
  "Refuse what the agent asks about; with a prefix argument tell it FEEDBACK."
  (interactive (list (and current-prefix-arg (read-string "Tell the agent: "))))
  (smith-approval-answer "no" feedback))

;;;###autoload
(defun smith-always ()
  "Allow the tool that the agent asks about from now on."
  (interactive)
  (smith-approval-answer "always"))

(defun smith-go-to-question ()
  "Go to the oldest open question of this chat."
  (interactive)
  (let* ((talk (smith-session-talk (smith-session-here)))
         (id (and talk (car (smith-talk-asking talk))))
         (place (and id (smith-block-place (gethash id (smith-talk-questions talk))))))
    (unless place
      (user-error "Nothing is asked"))
    (goto-char place)))

(defun smith-self-insert (count)
  "Type the character of this key COUNT times.
On a question it answers, if it is one of its keys; elsewhere above what is
typed it goes there."
  (interactive "p")
  (let ((decision (alist-get last-command-event smith-approval--keys)))
    (cond
     ((smith-input-at-point-p)
      (self-insert-command count))
     ((and decision (smith-approval--at-point))
      (smith-approval-answer decision))
     (t
      (goto-char (point-max))
      (self-insert-command count)))))

(provide 'smith-approval)
;;; smith-approval.el ends here
