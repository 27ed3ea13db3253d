;;; smith-touched.el --- Buffers that the running turn has changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; While a turn runs its cancel key works in the buffers that it has changed,
;; and their mode lines tell what it does.
;;
;; Requires `smith-modeline' and `smith-session' of this package, and must not
;; require more.

;;; Code:

(require 'smith-modeline)
(require 'smith-session)

(defvar smith-touched-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-k") 'smith-cancel)
    map)
  "Keys in a buffer that the running turn has changed.")

(defvar-local smith-touched--session nil
  "The session whose turn has changed this buffer.")

(define-minor-mode smith-touched-mode
  "Minor mode of buffers that the running turn of the agent has changed."
  :group 'smith
  :lighter (:eval (smith-touched--lighter))
  ;; Before the keys of other minor modes, as long as the turn runs.
  (if smith-touched-mode
      (push (cons 'smith-touched-mode smith-touched-mode-map)
            minor-mode-overriding-map-alist)
    (setq minor-mode-overriding-map-alist
          (assq-delete-all 'smith-touched-mode minor-mode-overriding-map-alist))))

(defun smith-touched--lighter ()
  "Return what the agent does, for the mode line."
  (if smith-touched--session
      (concat " smith:" (car (split-string (smith-modeline-escaped smith-touched--session)
                                           " · ")))
    ""))

(defvar smith-touched--buffers nil
  "Buffers in which the mode is on.")

(defun smith-touched-follow (session _event _changed)
  "Let the mode be on in exactly the buffers that SESSION's turn has changed."
  (let ((touched (smith-session-touched session)))
    (dolist (buffer smith-touched--buffers)
      (when (or (not (buffer-live-p buffer))
                (and (eq session (buffer-local-value 'smith-touched--session buffer))
                     (not (memq buffer touched))))
        (smith-touched--switch buffer nil)))
    (dolist (buffer touched)
      (when (and (buffer-live-p buffer) (not (memq buffer smith-touched--buffers)))
        (smith-touched--switch buffer session)))))

(defun smith-touched--switch (buffer session)
  "Turn the mode on in BUFFER for SESSION, or off if that is nil."
  (setq smith-touched--buffers (if session
                                   (cons buffer smith-touched--buffers)
                                 (delq buffer smith-touched--buffers)))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq smith-touched--session session)
      (smith-touched-mode (if session 1 -1)))))

(provide 'smith-touched)
;;; smith-touched.el ends here
