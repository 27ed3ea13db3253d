;;; smith-table.el --- Tables of markdown as text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Puts the columns of tables under each other.  Code is left alone, and what is
;; indented, for that may be code too.  The number of lines stays.
;;
;; Requires `smith-markdown' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'smith-markdown)

(defconst smith-table--most 80
  "A wider table would break in most windows, the worse the more blanks it has.")

(defun smith-table-aligned (text)
  "Return TEXT with its tables aligned, nil if there is nothing to do."
  (when (string-match-p "^|" text)
    (with-temp-buffer
      (insert text)
      (goto-char (point-min))
      (let ((fence nil))
        (while (not (eobp))
          (if (and (not fence) (looking-at-p "|"))
              (smith-table--pass)
            (setq fence (smith-markdown-fence-after fence))
            (forward-line))))
      (let ((made (buffer-string)))
        (and (not (string= made text)) made)))))

(defun smith-table--pass ()
  "Align the rows from this line on, if they are a table, and go behind them."
  (let ((beg (point))
        (lines nil))
    (while (and (not (eobp)) (looking-at-p "|"))
      (push (buffer-substring (point) (line-end-position)) lines)
      (forward-line))
    (setq lines (nreverse lines))
    (when (and (cdr lines) (smith-table--divider-p (cadr lines)))
      (let ((end (if (bolp) (1- (point)) (point)))
            (made (string-join (smith-table--drawn lines) "\n")))
        (delete-region beg end)
        (goto-char beg)
        (insert made)
        (goto-char beg)
        (forward-line (length lines))))))

(defun smith-table--cells (line)
  "Return the cells of LINE."
  (let* ((trimmed (string-remove-prefix "|" (string-trim line)))
         (inner (if (string-suffix-p "\\|" trimmed)
                    trimmed
                  (string-remove-suffix "|" trimmed)))
         (from 0)
         (cells nil))
    (dotimes (at (length inner))
      (when (and (eq (aref inner at) ?|)
                 (not (and (> at 0) (eq (aref inner (1- at)) ?\\))))
        (push (string-trim (substring inner from at)) cells)
        (setq from (1+ at))))
    (nreverse (cons (string-trim (substring inner from)) cells))))

(defun smith-table--divider-p (line)
  "Return non-nil if LINE stands between the head of a table and its rows."
  (seq-every-p (lambda (cell) (string-match-p "\\`:?-+:?\\'" cell))
               (smith-table--cells line)))

(defun smith-table--widths (rows)
  "Return the widths of the columns of ROWS, nil if they are too wide together.
The last one goes without blanks where that is what makes them fit."
  (let* ((columns (apply #'max (mapcar #'length rows)))
         (widths (mapcar (lambda (at)
                           (apply #'max 3 (mapcar (lambda (row)
                                                    (string-width (or (nth at row) "")))
                                                  rows)))
                         (number-sequence 0 (1- columns))))
         (all (+ (apply #'+ widths) (* 3 columns)))
         (last (car (last widths))))
    (cond
     ((> (- all last) smith-table--most) nil)
     ((> (1+ all) smith-table--most) (append (butlast widths) '(3)))
     (t widths))))

(defun smith-table--row (cells)
  "Return a row of CELLS."
  (concat "| " (string-join cells " | ") " |"))

(defun smith-table--padded (cell width rule)
  "Return CELL with blanks up to WIDTH, on the side that RULE asks for."
  (let ((blanks (make-string (max 0 (- width (string-width cell))) ?\s)))
    (if (and rule (string-match-p "\\`[^:].*:\\'" rule))
        (concat blanks cell)
      (concat cell blanks))))

(defun smith-table--rule (cell width)
  "Return CELL, a part of the line under the head, as wide as WIDTH."
  (let ((first (if (string-prefix-p ":" cell) ":" ""))
        (last (if (string-suffix-p ":" cell) ":" "")))
    (concat first (make-string (- width (length first) (length last)) ?-) last)))

(defun smith-table--drawn (lines)
  "Return LINES, which are a table, aligned."
  (let* ((cells (mapcar #'smith-table--cells lines))
         (rules (cadr cells))
         (rows (cons (car cells) (cddr cells)))
         (widths (smith-table--widths rows)))
    (if (not widths)
        lines
      (let ((drawn (mapcar (lambda (row)
                             (smith-table--row
                              (cl-mapcar #'smith-table--padded row widths
                                         (append rules (make-list (length row) nil)))))
                           rows)))
        (cons (car drawn)
              (cons (smith-table--row (cl-mapcar #'smith-table--rule rules widths))
                    (cdr drawn)))))))

(provide 'smith-table)
;;; smith-table.el ends here
