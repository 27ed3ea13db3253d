;;; smith-input.el --- What the person types in a chat  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The last part of a chat buffer, and the prompts that were sent before.
;;
;; Requires `smith-part' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'smith-part)

(defvar-local smith-input-start nil
  "Marker where the person's own text begins.")

(defvar-local smith-input--past nil
  "Prompts that were sent, newest first.")

(defvar-local smith-input--at nil
  "Number of the prompt of the past that is shown, nil if none is.")

(defvar-local smith-input--draft ""
  "What was being typed before the past was gone through.")

(defun smith-input-spoken (line)
  "Return LINE, which was typed, as a prompt.
Of two slashes at its beginning the first only says that it is no command."
  (if (string-prefix-p "//" line) (substring line 1) line))

(defun smith-input-typed (prompt)
  "Return what is typed to say PROMPT."
  (if (string-prefix-p "/" prompt) (concat "/" prompt) prompt))

(defun smith-input-command-p (line)
  "Return non-nil if LINE, which was typed, is a command."
  (and (string-prefix-p "/" line) (not (string-prefix-p "//" line))))

(defun smith-input-text ()
  "Return what is typed."
  (buffer-substring-no-properties smith-input-start (point-max)))

(defun smith-input-at-point-p ()
  "Return non-nil if point is in what is typed."
  (>= (point) smith-input-start))

(defun smith-input-set (text)
  "Let TEXT be what is typed, and go to its end."
  (delete-region smith-input-start (point-max))
  (goto-char (point-max))
  (insert text)
  (dolist (window (get-buffer-window-list nil nil t))
    (when (>= (window-point window) smith-input-start)
      (set-window-point window (point-max)))))

(defun smith-input-offer (prompt)
  "Let PROMPT be what is typed, if nothing is."
  (when (string-empty-p (smith-input-text))
    (save-excursion
      (smith-input-set (smith-input-typed prompt)))))

(defun smith-input-remember (text)
  "Add TEXT to the past."
  (unless (or (string-empty-p text) (equal text (car smith-input--past)))
    (push text smith-input--past))
  (setq smith-input--at nil))

(defun smith-input-learn (talk)
  "Take what was sent in TALK as the past, if there is none yet."
  (unless (or smith-input--past (not talk))
    (dolist (part (reverse (smith-talk-parts talk)))
      (when (smith-part-prompt-p part)
        (let ((text (smith-part-prompt-text part)))
          (smith-input-remember (if (smith-part-prompt-command part)
                                    text
                                  (smith-input-typed text))))))))

(defun smith-input-take ()
  "Return what is typed, and put it into the past; nothing is typed then."
  (let ((text (string-trim (smith-input-text))))
    (smith-input-set "")
    (setq buffer-undo-list nil)
    (smith-input-remember text)
    text))

(defun smith-input--go-through (step)
  "Go through the past by STEP; what was being typed comes after the newest."
  (let ((at (+ step (or smith-input--at -1))))
    (when (< at -1)
      (user-error "Nothing newer"))
    (when (>= at (length smith-input--past))
      (user-error "Nothing older"))
    (unless smith-input--at
      (setq smith-input--draft (smith-input-text)))
    (setq smith-input--at (and (>= at 0) at))
    (smith-input-set (if (>= at 0) (nth at smith-input--past) smith-input--draft))))

(defun smith-input-older ()
  "Show the prompt that was sent before."
  (interactive)
  (smith-input--go-through 1))

(defun smith-input-newer ()
  "Show the prompt that was sent after, at last what was being typed."
  (interactive)
  (smith-input--go-through -1))

(defun smith-input-up ()
  "Go to the line above; from the first one typed to the prompt before."
  (interactive)
  (if (and (smith-input-at-point-p)
           (<= (line-beginning-position) smith-input-start))
      (smith-input-older)
    (with-no-warnings (previous-line))))

(defun smith-input-down ()
  "Go to the line below; from the last one to the prompt after."
  (interactive)
  (if (and smith-input--at (smith-input-at-point-p) (= (line-end-position) (point-max)))
      (smith-input-newer)
    (with-no-warnings (next-line))))

(provide 'smith-input)
;;; smith-input.el ends here
