;;; smith-context.el --- What goes along with a prompt  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The file that the person looks at, and the text that is selected in it.
;;
;; Requires `smith-session', `smith-sync' and `smith-text' of this package, and
;; must not require more.

;;; Code:

(require 'seq)
(require 'smith-session)
(require 'smith-sync)
(require 'smith-text)

(defun smith-context-of-buffer (buffer)
  "Return the file of BUFFER as context, nil if it visits none.
Context is what goes on the wire, and a label for the person."
  (with-current-buffer (or (buffer-base-buffer buffer) buffer)
    (when (and buffer-file-name (not (file-remote-p buffer-file-name)))
      (list :label (file-relative-name buffer-file-name (smith-session-project))
            :uri (smith-sync-uri (current-buffer))
            :cwd (directory-file-name (expand-file-name default-directory))))))

(defun smith-context-of-region (beg end)
  "Return the text from BEG to END of this buffer as context, nil without a file."
  (let ((context (smith-context-of-buffer (current-buffer))))
    (when context
      (append (list :label (format "%s:%d-%d" (plist-get context :label)
                                   (line-number-at-pos beg t)
                                   (line-number-at-pos (max beg (1- end)) t))
                    :selection (smith-text-clean (smith-text-between beg end))
                    :range (list :start (smith-text-position beg)
                                 :end (smith-text-position end)))
              context))))

(defun smith-context-here ()
  "Return the active region of this buffer as context, else its file."
  (if (use-region-p)
      (smith-context-of-region (region-beginning) (region-end))
    (smith-context-of-buffer (current-buffer))))

(defun smith-context-beside (session)
  "Return the file of SESSION in another window, the one of most interest."
  (let ((recent (get-mru-window nil nil t)))
    (seq-some (lambda (window)
                (let ((buffer (and window (window-buffer window))))
                  (and buffer
                       (eq session (with-current-buffer buffer (smith-session-here)))
                       (smith-context-of-buffer buffer))))
              (cons recent (window-list nil 'no-minibuffer)))))

(defun smith-context-on-wire (context)
  "Return CONTEXT as it is sent."
  (let ((wire nil))
    (dolist (key '(:range :selection :cwd :uri) wire)
      (when (plist-get context key)
        (setq wire (cons key (cons (plist-get context key) wire)))))))

(provide 'smith-context)
;;; smith-context.el ends here
