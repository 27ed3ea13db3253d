;;; smith-diff.el --- A unified diff as part of something else  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The lines of a unified diff with their faces.
;;
;; Requires `smith-label' and `smith-options' of this package, and must not
;; require more.

;;; Code:

(require 'smith-label)
(require 'smith-options)

(defun smith-diff--face (line)
  "Return the face of LINE of a diff, nil if it has none."
  (cond
   ((string-match-p "\\`\\(?:--- \\|\\+\\+\\+ \\)" line) 'smith-detail)
   ((string-prefix-p "+" line) 'smith-added)
   ((string-prefix-p "-" line) 'smith-removed)
   ((string-prefix-p "@" line) 'smith-hunk)))

(defun smith-diff-lines (diff limit)
  "Return the first LIMIT lines of DIFF, indented and with faces.
One more line tells how many are left."
  (let* ((all (smith-label-lines diff))
         (count (length all))
         (lines (mapcar (lambda (line)
                          (concat (and (not (string-empty-p line)) smith-label-indent)
                                  (propertize line 'face (smith-diff--face line))))
                        (seq-take all limit))))
    (if (<= count limit)
        lines
      (append lines
              (list (propertize (format "%s… %d more lines" smith-label-indent
                                        (- count limit))
                                'face 'smith-detail))))))

(provide 'smith-diff)
;;; smith-diff.el ends here
