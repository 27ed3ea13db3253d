;;; smith-label.el --- Things in one line  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Short names for things, and text cut to a width.  Strings only.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(require 'seq)
(require 'subr-x)

(defconst smith-label-indent "    "
  "What stands before a line that belongs to the one above.")

(defconst smith-label--telling '(:command :path :pattern :query :url :task :name)
  "Arguments that say most about a call, the best first.")

(defun smith-label-first-line (text)
  "Return the first line of TEXT that is not blank; nil is an empty text."
  (string-trim (car (split-string (string-trim-left (or text "")) "\n"))))

(defun smith-label-indented (line)
  "Return LINE as part of something with a head; an empty one stays empty."
  (if (string-empty-p line) "" (concat smith-label-indent line)))

(defun smith-label-lines (text)
  "Return the lines of TEXT without the empty ones at its ends."
  (let ((trimmed (string-trim text "\n+" "\n+")))
    (and (not (string-empty-p trimmed)) (split-string trimmed "\n"))))

(defun smith-label-cut (text width)
  "Return TEXT, cut to WIDTH columns."
  (if (<= (string-width text) width)
      text
    (concat (substring text 0 (min (length text) (max 1 (1- width)))) "…")))

(defun smith-label-wrap (text width)
  "Return TEXT as lines of at most WIDTH columns, broken between words."
  (let ((lines nil))
    (dolist (word (split-string text "[ \t\n\r\f\v]+" t))
      (let ((longer (and lines (concat (car lines) " " word))))
        (if (and longer (<= (string-width longer) width))
            (setcar lines longer)
          (push word lines))))
    (nreverse lines)))

(defun smith-label--argument (arguments)
  "Return the most telling of ARGUMENTS, JSON as the model wrote it."
  (let ((values (ignore-errors
                  (json-parse-string arguments :object-type 'plist))))
    (seq-some (lambda (name)
                (let ((value (and (listp values) (plist-get values name))))
                  (and (stringp value) (smith-label-first-line value))))
              smith-label--telling)))

(defun smith-label-call (name title arguments)
  "Return what a call of the tool NAME is about, by its TITLE or its ARGUMENTS."
  (let ((what (if (string-empty-p title)
                  (or (smith-label--argument arguments) "")
                (smith-label-first-line title))))
    (if (string-empty-p what) name (concat name " " what))))

(provide 'smith-label)
;;; smith-label.el ends here
