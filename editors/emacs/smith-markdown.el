;;; smith-markdown.el --- Faces for lines of markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Gives whole lines in a buffer their faces.  A line, and the fence that it
;; stands in, is all that is looked at, so that a growing answer costs only
;; the lines that are new.
;;
;; Requires `smith-options' of this package, and must not require more.

;;; Code:

(require 'smith-options)

(defconst smith-markdown--open "^ \\{0,3\\}\\(```+\\)[^`\n]*$\\|^ \\{0,3\\}\\(~~~+\\)"
  "What a fence begins with.")

(defconst smith-markdown--close "^ \\{0,3\\}\\(```+\\|~~~+\\)[ \t\r]*$"
  "What a fence ends with.")

(defconst smith-markdown--inline
  '(("`[^`\n]+`" . smith-code)
    ("\\*\\*[^*\n]+\\*\\*" . smith-strong)
    ("\\[[^]\n]+\\]([^)\n]+)" . smith-link)
    ("https?://[^ \t\n)>]+" . smith-link))
  "Patterns within a line and their faces; the first that matches counts.")

(defun smith-markdown-paint (beg end fence)
  "Give the lines from BEG to END, which begin and end there, their faces.
FENCE is what opened the code that the first one stands in, nil if there is
none.  Return the same for the last line."
  (save-excursion
    (goto-char beg)
    (remove-text-properties beg end '(face nil))
    (let ((last nil))
      (while (not last)
        (setq last (>= (line-end-position) end))
        (let ((next (smith-markdown-fence-after fence))
              (stop (min end (1+ (line-end-position)))))
          (if (or fence (and next (not last)))
              (put-text-property (point) stop 'face 'smith-code-block)
            (smith-markdown--paint-line (min end (line-end-position))))
          (unless last
            (setq fence next)
            (forward-line)))))
    fence))

(defun smith-markdown-fence-after (fence)
  "Return the fence that is open after the line at point, when FENCE is before it."
  (cond
   ((not fence)
    (and (looking-at smith-markdown--open)
         (or (match-string-no-properties 1) (match-string-no-properties 2))))
   ((and (looking-at smith-markdown--close)
         (string-prefix-p fence (match-string-no-properties 1)))
    nil)
   (t fence)))

(defun smith-markdown--paint-line (end)
  "Give this line, which ends at END and is no code, its faces."
  (cond
   ((looking-at "#+[ \t]")
    (put-text-property (point) end 'face 'smith-heading))
   ((looking-at ">")
    (put-text-property (point) end 'face 'smith-quote))
   (t
    (when (looking-at "[ \t]*\\([-*+]\\|[0-9]+[.)]\\)[ \t]")
      (put-text-property (match-beginning 1) (match-end 1) 'face 'smith-list))
    (smith-markdown--paint-inline end))))

(defun smith-markdown--paint-inline (end)
  "Give what is within this line up to END its faces; code is left alone."
  (pcase-dolist (`(,pattern . ,face) smith-markdown--inline)
    (save-excursion
      (while (re-search-forward pattern end t)
        (if (text-property-not-all (match-beginning 0) (match-end 0) 'face nil)
            (goto-char (1+ (match-beginning 0)))
          (put-text-property (match-beginning 0) (match-end 0) 'face face))))))

(provide 'smith-markdown)
;;; smith-markdown.el ends here
