;;; smith-pager.el --- A long text to read  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A page in a window of its own; q leaves it.
;;
;; Requires `smith-markdown' of this package, and must not require more.

;;; Code:

(require 'smith-markdown)

(define-derived-mode smith-pager-mode special-mode "Smith-Page"
  "Major mode for a long text of the agent."
  (setq-local word-wrap t
              truncate-lines nil
              truncate-partial-width-windows nil))

(defun smith-pager-open (page)
  "Show PAGE, a plist with title, format and content."
  (let ((buffer (get-buffer-create (format "*smith: %s*" (plist-get page :title))))
        (inhibit-read-only t))
    (with-current-buffer buffer
      (smith-pager-mode)
      (erase-buffer)
      (insert (plist-get page :content))
      (when (equal (plist-get page :format) "markdown")
        (smith-markdown-paint (point-min) (point-max) nil))
      (goto-char (point-min)))
    (pop-to-buffer buffer)))

(provide 'smith-pager)
;;; smith-pager.el ends here
