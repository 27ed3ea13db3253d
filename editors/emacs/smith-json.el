;;; smith-json.el --- JSON that Emacs cannot read  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The JSON of Emacs refuses a NUL and half of a surrogate pair, and with them
;; the whole message.  Their places take other characters, whose escapes are as
;; long, so that the lengths of messages still hold.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(require 'cl-lib)

(defconst smith-json--suspect
  (concat "\\(\\\\+\\)u\\(0000\\|[dD][89aAbB][[:xdigit:]]\\{2\\}"
          "\\(\\\\u[dD][c-fC-F][[:xdigit:]]\\{2\\}\\)?"
          "\\|[dD][c-fC-F][[:xdigit:]]\\{2\\}\\)")
  "Escape of a NUL, of a surrogate, or of a pair of those (3).")

(defconst smith-json--unfinished
  (concat "\\\\+\\(?:u\\(?:[[:xdigit:]]\\{0,3\\}\\|[dD][89aAbB][[:xdigit:]]\\{2\\}"
          "\\(?:\\\\\\(?:u[[:xdigit:]]\\{0,3\\}\\)?\\)?\\)\\)?\\'")
  "What may be the beginning of such an escape.")

(defun smith-json-readable (string)
  "Return the part of STRING that can be read, and the rest: (TEXT . REST).
The rest may be the beginning of something that cannot be read.  STRING is any
piece of a stream of messages."
  (let* ((end (string-match smith-json--unfinished string))
         (text (substring string 0 end))
         (start 0))
    (while (string-match smith-json--suspect text start)
      (let ((place (match-beginning 2))
            (pair (match-beginning 3)))
        (setq start (match-end 0))
        ;; After an even number of backslashes it is text that looks like one.
        (when (and (not pair) (cl-oddp (- (match-end 1) (match-beginning 1))))
          (setq start (+ place 4)
                text (concat (substring text 0 place)
                             (if (eq (aref text place) ?0) "2400" "fffd")
                             (substring text start))))))
    (cons text (if end (substring string end) ""))))

(provide 'smith-json)
;;; smith-json.el ends here
