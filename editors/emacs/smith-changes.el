;;; smith-changes.el --- What became of the agent's changes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Each hunk that was made lies under an overlay, with its old and its new text
;; beside it.  What the text there is now tells whether the change stands, was
;; taken back, or was touched; the server is told once for each.
;;
;; Requires `smith-protocol' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'smith-protocol)

(defconst smith-changes--seconds 0.2
  "How long Emacs is idle before changes are looked at.")

(defconst smith-changes--kept 500
  "How many hunks of a buffer are remembered.")

(defconst smith-changes--neighbour 40
  "How many characters beside a deletion are remembered.")

(cl-defstruct (smith-changes (:constructor smith-changes-new (notify)) (:copier nil))
  "The changes of one connection.
NOTIFY sends a method with its parameters.  BUFFERS are those with changes."
  notify buffers)

(defvar-local smith-changes--hunks nil
  "Hunks in this buffer, newest first, as (CHANGES OVERLAY . FACTS).
FACTS is a plist with change, hunk, old, new, beside, told.")
(put 'smith-changes--hunks 'permanent-local t)

(defvar smith-changes--timer nil
  "Timer that looks at what was changed.")

;;; What others see

(defun smith-changes-track (self change hunks)
  "Remember HUNKS of CHANGE in SELF, which were just made in this buffer.
Each is a list (BEG OLD NEW): where its new text begins, and the texts."
  (cl-pushnew (current-buffer) (smith-changes-buffers self))
  (add-hook 'after-change-functions #'smith-changes--changed nil t)
  (seq-do-indexed
   (lambda (hunk index)
     (pcase-let* ((`(,beg ,old ,new) hunk)
                  (overlay (make-overlay beg (+ beg (length new)) nil nil t)))
       (overlay-put overlay 'smith-change change)
       (push (cons self (cons overlay
                              (list :change change :hunk index :old old :new new
                                    :beside (smith-changes--beside beg)
                                    :told "applied")))
             smith-changes--hunks)))
   hunks)
  (smith-changes--forget-oldest))

(defun smith-changes-look-all (self)
  "Look what became of all hunks of SELF."
  (cl-callf2 seq-filter #'buffer-live-p (smith-changes-buffers self))
  (dolist (buffer (smith-changes-buffers self))
    (with-current-buffer buffer
      (smith-changes--look self))))

(defun smith-changes-close (self)
  "Forget all hunks of SELF: nobody is there to be told."
  (dolist (buffer (smith-changes-buffers self))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (pcase-dolist (`(,owner ,overlay . ,_) smith-changes--hunks)
          (when (eq owner self)
            (delete-overlay overlay)))
        (cl-callf2 cl-delete self smith-changes--hunks :key #'car)
        (unless smith-changes--hunks
          (remove-hook 'after-change-functions #'smith-changes--changed t)))))
  (setf (smith-changes-buffers self) nil))

;;; Looking

(defun smith-changes--forget-oldest ()
  "Forget the oldest hunks of this buffer if there are too many."
  (let ((more (nthcdr smith-changes--kept smith-changes--hunks)))
    (when more
      (mapc (lambda (hunk) (delete-overlay (cadr hunk))) more)
      (cl-callf seq-take smith-changes--hunks smith-changes--kept))))

(defun smith-changes--changed (&rest _)
  "Look soon what became of the hunks in this buffer."
  (unless smith-changes--timer
    (let ((owners (seq-uniq (mapcar #'car smith-changes--hunks) #'eq)))
      (setq smith-changes--timer
            (run-with-idle-timer smith-changes--seconds nil
                                 (lambda ()
                                   (setq smith-changes--timer nil)
                                   (mapc #'smith-changes-look-all owners)))))))
(put 'smith-changes--changed 'permanent-local-hook t)

(defun smith-changes--beside (place)
  "Return what stands before and after PLACE, as (BEFORE . AFTER)."
  (cons (buffer-substring-no-properties
         (max (point-min) (- place smith-changes--neighbour)) place)
        (buffer-substring-no-properties
         place (min (point-max) (+ place smith-changes--neighbour)))))

(defun smith-changes--state (overlay facts)
  "Return what became of the hunk under OVERLAY, of which FACTS are known."
  (let* ((beg (overlay-start overlay))
         (text (and beg (buffer-substring-no-properties beg (overlay-end overlay)))))
    (cond
     ((not text) "touched")
     ((not (equal text (plist-get facts :new)))
      (if (equal text (plist-get facts :old)) "undone" "touched"))
     ((not (string-empty-p text)) "applied")
     ;; An empty place always reads so: a deletion stands as long as one of its
     ;; neighbours is there.
     (t
      (let ((beside (smith-changes--beside beg)))
        (if (or (equal (car beside) (car (plist-get facts :beside)))
                (equal (cdr beside) (cdr (plist-get facts :beside))))
            "applied"
          "touched"))))))

(defun smith-changes--look (self)
  "Tell the server of SELF what became of its hunks in this buffer."
  (save-restriction
    (widen)
    (pcase-dolist (`(,owner ,overlay . ,facts) smith-changes--hunks)
      (when (eq owner self)
        (let* ((state (smith-changes--state overlay facts))
               (told (plist-get facts :told))
               (news (if (and (equal state "applied") (not (equal told "applied")))
                         "redone"
                       state)))
          (unless (equal news told)
            (plist-put facts :told news)
            (funcall (smith-changes-notify self) smith-protocol-method-change-state
                     (list :change (plist-get facts :change)
                           :hunk (plist-get facts :hunk)
                           :state news))))))))

(provide 'smith-changes)
;;; smith-changes.el ends here
