;;; smith-modeline.el --- What the agent does, in a few words  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The small status of a session, for the mode line of its chat and, with
;; `smith-mode-line-mode', for all others.
;;
;; Requires `smith-part' and `smith-session' of this package, and must not
;; require more.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'smith-part)
(require 'smith-session)

(defconst smith-modeline--words
  '((idle . "ready") (thinking . "thinking") (streaming . "writing") (tool . "working")
    (waiting . "waits for you") (cancelling . "stopping") (error . "failed"))
  "What a status is called.")

(defvar smith-modeline--construct '(:eval (smith-modeline--everywhere))
  "What `smith-mode-line-mode' adds.")

(defun smith-modeline--short (tokens)
  "Return TOKENS, a number, in few characters."
  (if (< tokens 1000) (number-to-string tokens) (format "%.1fk" (/ tokens 1000.0))))

(defun smith-modeline--dollars (cost)
  "Return COST, US dollars or nil, for people."
  (if (and cost (> cost 0)) (format (if (< cost 0.1) "$%.4f" "$%.2f") cost) ""))

(defun smith-modeline--talk (talk)
  "Return what there is to tell of TALK, which may be nil, as strings."
  (if (not talk)
      (list (alist-get 'idle smith-modeline--words))
    (seq-remove
     #'string-empty-p
     (list (alist-get (smith-talk-status talk) smith-modeline--words "")
           (if (smith-talk-holder talk) "read-only" "")
           (smith-talk-model talk)
           (if (> (smith-talk-context talk) 0)
               (concat (smith-modeline--short (smith-talk-context talk)) " tokens")
             "")
           (smith-modeline--dollars (smith-talk-cost talk))
           (if (smith-talk-queue talk)
               (format "%d waiting" (length (smith-talk-queue talk)))
             "")
           (string-join (split-string (or (smith-talk-note talk) "")) " ")))))

(defun smith-modeline-text (session)
  "Return one line about SESSION."
  (pcase (smith-session-link session)
    ('ready (string-join (smith-modeline--talk (smith-session-talk session)) " · "))
    ('starting "starting")
    (_ "not running")))

(defun smith-modeline-escaped (session)
  "Return one line about SESSION for a mode line."
  (string-replace "%" "%%" (smith-modeline-text session)))

(defun smith-modeline--everywhere ()
  "Return who waits for the person or works, for any mode line."
  (mapconcat (lambda (session)
               (let* ((talk (smith-session-talk session))
                      (waits (and talk (smith-talk-asking talk))))
                 (if (not (or waits (smith-session-busy-p session)))
                     ""
                   (propertize
                    (format " [smith: %s]"
                            (if waits
                                (alist-get 'waiting smith-modeline--words)
                              (alist-get (smith-talk-status talk) smith-modeline--words
                                         "working")))
                    'face (if waits 'warning 'mode-line-emphasis)))))
             (seq-filter #'smith-session-talk (smith-session-all))
             ""))

;;;###autoload
(define-minor-mode smith-mode-line-mode
  "Show in every mode line when the agent works or waits for you."
  :global t
  :group 'smith
  (if smith-mode-line-mode
      (add-to-list 'mode-line-misc-info smith-modeline--construct t)
    (setq mode-line-misc-info (delete smith-modeline--construct mode-line-misc-info))))

(provide 'smith-modeline)
;;; smith-modeline.el ends here
