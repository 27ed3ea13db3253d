;;; smith-complete.el --- Completion of what is typed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The server knows what can stand in a command line or a mention; Emacs only
;; shows it.  Nothing waits: candidates are fetched while a line is typed, and
;; a key that finds none yet shows them when they come.  Without a server that
;; completes there are none.
;;
;; Requires `smith-chat', `smith-input', `smith-protocol', `smith-ready' and
;; `smith-session' of this package, and must not require more.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'smith-chat)
(require 'smith-input)
(require 'smith-protocol)
(require 'smith-ready)
(require 'smith-session)

(defvar-local smith-complete--line nil
  "What was typed, up to point, when candidates were asked for last.")

(defvar-local smith-complete--found nil
  "The answer to that: (LINE START . CANDIDATES), nil until it comes.
START is where in LINE the candidates begin; each is a string with its detail.")

(defvar-local smith-complete--wanted nil
  "What was typed when completion was wanted and nothing was found yet.")

(defun smith-complete--typed ()
  "Return what is typed up to point, nil if point is not there."
  (and (smith-input-at-point-p)
       (buffer-substring-no-properties smith-input-start (point))))

(defun smith-complete--worth-p (line)
  "Return non-nil if there may be something to complete at the end of LINE."
  (or (smith-input-command-p line)
      (string-match-p "\\(?:\\`\\|[[:space:]]\\)[@$][^[:space:]]*\\'" line)))

(defun smith-complete-watch ()
  "Ask for candidates if what is typed has changed."
  (let ((line (smith-complete--typed)))
    (when (and line (not (equal line smith-complete--line)) (smith-complete--worth-p line))
      (smith-complete--ask line))))

(defun smith-complete--ask (line)
  "Ask the server what can stand at the end of LINE."
  (setq smith-complete--line line
        smith-complete--found nil)
  (when (and smith-chat-session
             (smith-session-supports-p smith-chat-session smith-protocol-command-complete))
    (let ((buffer (current-buffer)))
      (smith-session-command
       smith-chat-session smith-protocol-command-complete
       (list :line line :cursor (length line))
       (lambda (result _problem)
         (when (and result (buffer-live-p buffer))
           (with-current-buffer buffer
             (smith-complete--take line result))))))))

(defun smith-complete--take (line result)
  "Take RESULT, what the server knows for the end of LINE."
  (when (equal line smith-complete--line)
    (let ((candidates (append (plist-get result :candidates) nil)))
      (setq smith-complete--found
            (cons line (cons (or (plist-get result :start) 0)
                             (delq nil (mapcar #'smith-complete--candidate candidates)))))
      (when (and (equal line smith-complete--wanted)
                 (equal line (smith-complete--typed))
                 (eq (current-buffer) (window-buffer))
                 (not (smith-ready-busy)))
        (completion-at-point))
      (setq smith-complete--wanted nil))))

(defun smith-complete--candidate (candidate)
  "Return CANDIDATE of the server as a string with its detail, nil if it is none."
  (let ((text (plist-get candidate :text)))
    (and text (propertize text 'smith-detail (plist-get candidate :detail)))))

(defun smith-complete-at-point ()
  "Return what can stand at point, for `completion-at-point-functions'."
  (let ((line (smith-complete--typed)))
    (pcase smith-complete--found
      ((and `(,known ,start . ,candidates)
            (guard (and line candidates (string-prefix-p known line))))
       (list (+ smith-input-start start) (point) candidates
             :exclusive 'no
             :annotation-function #'smith-complete--annotation))
      (_ (when line
           (setq smith-complete--wanted line)
           (smith-complete-watch)
           nil)))))

(defun smith-complete--annotation (candidate)
  "Return what stands behind CANDIDATE in a list."
  (let ((detail (get-text-property 0 'smith-detail candidate)))
    (if (stringp detail)
        (concat "  " (propertize detail 'face 'completions-annotations))
      "")))

(provide 'smith-complete)
;;; smith-complete.el ends here
