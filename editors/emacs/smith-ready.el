;;; smith-ready.el --- Whether a buffer may be changed now  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; While a command is half typed Emacs and its commands remember plain
;; positions: a change then makes the next key hit other text.  The question
;; is asked in the moment of the change, and nothing between may run other
;; code.  Jobs that find Emacs busy wait here and are tried again when a state
;; is left, and every 100 ms.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(require 'cl-lib)
(require 'seq)

(defconst smith-ready--seconds 0.1
  "How often a job that waits is tried.")

(defconst smith-ready--cycling
  '(dabbrev-expand hippie-expand completion-at-point complete-symbol)
  "Commands that, when repeated, put other text where they put theirs.")

(defconst smith-ready--hooks
  '(post-command-hook minibuffer-exit-hook isearch-mode-end-hook
    deactivate-mark-hook)
  "Hooks that run when a state is left in which a job may have waited.")

(defvar smith-ready--jobs nil
  "Functions that wait, oldest first, to be called until they return non-nil.")

(defvar smith-ready--timer nil
  "Timer that tries the jobs.")

(defvar smith-ready--soon nil
  "Timer that tries the jobs right after the command that runs.")

;;; The question

(defun smith-ready-obstacle (buffer)
  "Return in words why BUFFER may not be changed now, nil if it may.
BUFFER is no indirect one; those that show its text count too."
  (or (smith-ready-busy)
      (seq-some #'smith-ready--in-use (smith-ready-views buffer))))

(defun smith-ready-busy ()
  "Return why Emacs is in the middle of a command, nil if it is not."
  (cond
   ((> (minibuffer-depth) 0) "the minibuffer is in use")
   (this-command "Emacs is in the middle of a command")
   ((> (recursion-depth) 0) "Emacs is in a recursive edit")
   ((or prefix-arg (> (length (this-single-command-keys)) 0))
    "a key sequence is half typed")
   ((bound-and-true-p completion-in-region-mode) "a completion is open")))

(defun smith-ready-views (buffer)
  "Return BUFFER and the indirect buffers that show its text."
  (seq-filter (lambda (other)
                (or (eq other buffer) (eq (buffer-base-buffer other) buffer)))
              (buffer-list)))

(defun smith-ready--in-use (buffer)
  "Return why the text in BUFFER is in use, nil if it is not."
  (with-current-buffer buffer
    (cond
     ((bound-and-true-p isearch-mode) "a search is going on in the buffer")
     ((region-active-p) "a region is active in the buffer")
     ((bound-and-true-p company-candidates) "a completion is open")
     ((and (eq buffer (window-buffer)) (memq last-command smith-ready--cycling))
      "a completion may be cycled"))))

;;; Waiting

(defun smith-ready-retry (job)
  "Call JOB, a function, again and again until its value is non-nil.
The caller has just tried it: the first call comes when something has changed."
  (setq smith-ready--jobs (append smith-ready--jobs (list job)))
  (unless smith-ready--timer
    (setq smith-ready--timer (run-with-timer smith-ready--seconds
                                             smith-ready--seconds
                                             #'smith-ready--try))
    (dolist (hook smith-ready--hooks)
      (add-hook hook #'smith-ready--try-soon))))

(defun smith-ready--try-soon ()
  "Try the jobs once the running command is over."
  (unless smith-ready--soon
    (setq smith-ready--soon (run-with-timer 0 nil #'smith-ready--try))))

(defun smith-ready--try ()
  "Try every job; those that are not finished go on waiting."
  (when smith-ready--soon
    (cancel-timer smith-ready--soon)
    (setq smith-ready--soon nil))
  ;; Away while they run: a job may let others in, which must not run it again.
  (let ((jobs smith-ready--jobs))
    (setq smith-ready--jobs nil)
    (let ((left (cl-remove-if #'smith-ready--finished-p jobs)))
      (setq smith-ready--jobs (append left smith-ready--jobs))))
  (unless smith-ready--jobs
    (smith-ready--rest)))

(defun smith-ready--finished-p (job)
  "Call JOB and return non-nil if it needs no other call."
  (condition-case problem
      (funcall job)
    (error
     (message "smith: %s" (error-message-string problem))
     t)))

(defun smith-ready--rest ()
  "Do nothing more until a job comes."
  (when smith-ready--timer
    (cancel-timer smith-ready--timer)
    (setq smith-ready--timer nil))
  (dolist (hook smith-ready--hooks)
    (remove-hook hook #'smith-ready--try-soon)))

(provide 'smith-ready)
;;; smith-ready.el ends here
