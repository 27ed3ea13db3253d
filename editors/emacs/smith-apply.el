;;; smith-apply.el --- Changes of a buffer as one undo step  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Puts a planned change into a buffer as one undo step of its own, with point,
;; mark and windows staying with their text.  Asks nothing and decides nothing.
;;
;; A hunk is a list (BEG END NEW): buffer positions and what to put between.
;;
;; Requires `smith-ready' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'smith-ready)

(defun smith-apply-hunks (hunks)
  "Make HUNKS in this buffer as one undo step of its own, or none of them.
Return nil, or the error because of which nothing was changed, as a list of
its symbol and its data."
  ;; First of all: what comes between this and the end becomes one step.
  (undo-boundary)
  (let ((places (smith-apply--places))
        (group (prepare-change-group))
        (inhibit-interaction t)
        (undo-outer-limit nil)
        (undo-limit most-positive-fixnum)
        (undo-strong-limit most-positive-fixnum))
    (condition-case problem
        (progn
          (activate-change-group group)
          (dolist (hunk (reverse hunks))
            (smith-apply--replace hunk (mapcar #'car places)))
          (accept-change-group group)
          (undo-amalgamate-change-group group)
          (undo-boundary)
          (smith-apply--put-back places)
          nil)
      (error
       (cancel-change-group group)
       (smith-apply--put-back places)
       problem))))

(defun smith-apply--replace (hunk markers)
  "Make HUNK; those of MARKERS within its old text stay within the new one."
  (pcase-let* ((`(,beg ,end ,new) hunk)
               (inside (cl-loop for marker in markers
                                when (and (<= beg marker) (< marker end))
                                collect (cons marker (- marker beg)))))
    (goto-char beg)
    (delete-region beg end)
    (insert new)
    (pcase-dolist (`(,marker . ,offset) inside)
      (set-marker marker (+ beg (min offset (length new)))))))

(defun smith-apply--places ()
  "Return the places in this buffer that stay with their text, as (MARKER . SET).
These are point and mark of the buffer and of those that show its text, and
point and start of their windows.  SET puts the place to where MARKER is.
Text that is inserted at such a place comes before it."
  (mapcan (lambda (view)
            (append (smith-apply--buffer-places view)
                    (mapcan #'smith-apply--window-places
                            (get-buffer-window-list view nil t))))
          (smith-ready-views (current-buffer))))

(defun smith-apply--buffer-places (view)
  "Return point and mark of the buffer VIEW, as in `smith-apply--places'."
  (with-current-buffer view
    (let ((mark (mark-marker)))
      (append
       (list (cons (copy-marker (point) t)
                   (lambda (place) (with-current-buffer view (goto-char place)))))
       (and (marker-position mark)
            (list (cons (copy-marker mark t)
                        (lambda (place) (set-marker mark place view)))))))))

(defun smith-apply--window-places (window)
  "Return point and start of WINDOW, as in `smith-apply--places'."
  (with-current-buffer (window-buffer window)
    (list (cons (copy-marker (window-point window) t)
                (lambda (place) (set-window-point window place)))
          (cons (copy-marker (window-start window) t)
                (lambda (place)
                  (unless (= place (window-start window))
                    (set-window-start window place t)))))))

(defun smith-apply--put-back (places)
  "Set all PLACES to where their markers are."
  (pcase-dolist (`(,marker . ,set) places)
    (funcall set (marker-position marker))
    (set-marker marker nil)))

(provide 'smith-apply)
;;; smith-apply.el ends here
