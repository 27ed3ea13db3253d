;;; smith-edit.el --- Guarded edits in open buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `smith/applyEdit': a change that is applied only when the text is the one
;; it was made for and Emacs is ready.  Three guards, asked in the moment in
;; which the change is made: hash of the text, old text of each range, ready
;; editor.  A change that finds Emacs busy is deferred, tried again from the
;; start, and reported exactly once.
;;
;; Hunks are those of `smith-apply'.
;;
;; Requires `smith-apply', `smith-buffers', `smith-protocol', `smith-ready',
;; `smith-rpc', `smith-sync' and `smith-text' of this package, and must not
;; require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-apply)
(require 'smith-buffers)
(require 'smith-protocol)
(require 'smith-ready)
(require 'smith-rpc)
(require 'smith-sync)
(require 'smith-text)

(defconst smith-edit--max-bytes (* 10 1024 1024)
  "Size of a document above which it is not edited.")

(defconst smith-edit--current-lines 200
  "How many lines a refusal shows.")

(defconst smith-edit--remembered 1000
  "How many receipts are kept.")

(cl-defstruct (smith-edit (:constructor smith-edit-new (notify &optional applied))
                          (:copier nil))
  "The edits of one connection.
NOTIFY sends a method with its parameters.  APPLIED is called in the buffer with
a change that was made and its hunks as lists (BEG OLD NEW).  PENDING holds the changes that are
deferred, RECEIPTS those that were applied, ORDER the latter, newest first."
  notify applied
  (pending (make-hash-table :test #'equal))
  (receipts (make-hash-table :test #'equal))
  order)

;;; What the server asks

(defun smith-edit-handle (self params)
  "Answer `smith/applyEdit' with PARAMS on behalf of SELF.
After `deferred' exactly one `smith/editDone' follows."
  (let ((change (plist-get params :change)))
    (cond
     ((gethash change (smith-edit-receipts self)))
     ((gethash change (smith-edit-pending self))
      (smith-edit--receipt "deferred" "the change waits for the editor"))
     (t
      (let ((answer (smith-edit--attempt self params)))
        (when (equal (plist-get answer :status) "deferred")
          (smith-edit--defer self params))
        answer)))))

(defun smith-edit-withdraw (self params)
  "Take back the deferred change that PARAMS of `smith/withdrawEdit' to SELF name."
  (when (gethash (plist-get params :change) (smith-edit-pending self))
    (smith-edit--done self (plist-get params :change)
                      (smith-edit--receipt
                       "withdrawn"
                       "the change was taken back before it could be made"))))

(defun smith-edit-close (self)
  "Drop what waits in SELF: nobody is there to be told."
  (clrhash (smith-edit-pending self)))

;;; Answers

(defun smith-edit--receipt (status &optional message &rest more)
  "Return a receipt with STATUS, MESSAGE and MORE, which is a plist."
  (append (list :status status) (and message (list :message message)) more))

(defun smith-edit--stale (edits message)
  "Return a receipt with MESSAGE and the lines of EDITS as they are now."
  (let ((first (apply #'min (mapcar (lambda (edit) (smith-edit--line edit :start))
                                    edits)))
        (last (apply #'max (mapcar (lambda (edit) (smith-edit--line edit :end))
                                   edits))))
    (smith-edit--receipt
     "stale" message :current
     (smith-text-lines first
                       (min last (+ first smith-edit--current-lines -1))))))

(defun smith-edit--line (edit side)
  "Return the line of SIDE, `:start' or `:end', of the range of EDIT."
  (plist-get (plist-get (plist-get edit :range) side) :line))

(defun smith-edit--remember (self change receipt)
  "Keep RECEIPT of CHANGE in SELF, to be given again."
  (puthash change receipt (smith-edit-receipts self))
  (push change (smith-edit-order self))
  (when (> (length (smith-edit-order self)) smith-edit--remembered)
    (remhash (car (last (smith-edit-order self))) (smith-edit-receipts self))
    (cl-callf butlast (smith-edit-order self))))

;;; Waiting

(defun smith-edit--defer (self params)
  "Try the change of PARAMS again on behalf of SELF until it has a receipt."
  (let ((change (plist-get params :change)))
    (puthash change t (smith-edit-pending self))
    (smith-ready-retry
     (lambda ()
       (or (not (gethash change (smith-edit-pending self)))
           (let ((answer (smith-edit--attempt self params)))
             (unless (equal (plist-get answer :status) "deferred")
               (smith-edit--done self change answer)
               t)))))))

(defun smith-edit--done (self change receipt)
  "Tell the server of SELF with RECEIPT what became of the deferred CHANGE."
  (remhash change (smith-edit-pending self))
  (funcall (smith-edit-notify self) smith-protocol-method-edit-done
           (append (list :change change) receipt)))

;;; One try

(defun smith-edit--attempt (self params)
  "Make the change of PARAMS on behalf of SELF if it may be made; return a receipt."
  (condition-case problem
      (let* ((deadline (plist-get params :deadline))
             (buffer (smith-buffers-find (plist-get params :uri)))
             (obstacle (and buffer (smith-ready-obstacle buffer))))
        (cond
         ((and deadline (> (smith-rpc-now) deadline))
          (smith-edit--receipt
           "expired" "the editor was busy until the deadline of the change"))
         ((not buffer)
          (smith-edit--receipt "gone" "no buffer visits this file any more"))
         (obstacle (smith-edit--receipt "deferred" obstacle :reason obstacle))
         (t
          (with-current-buffer buffer
            (save-restriction
              (widen)
              (smith-edit--change self params))))))
    (error (smith-edit--receipt "failed" (error-message-string problem)))))

(defun smith-edit--change (self params)
  "Make the change of PARAMS in this buffer on behalf of SELF; return a receipt."
  ;; What changed without telling is sent too: the server learns why it is stale.
  (smith-sync-flush (current-buffer))
  (let* ((edits (append (plist-get params :edits) nil))
         (hunks nil)
         (made nil))
    (or (smith-edit--unfit)
        (smith-edit--moved edits (plist-get params :base_hash))
        (progn
          (setq hunks (smith-edit--hunks edits))
          (smith-edit--unfit-hunks hunks))
        (progn
          (setq hunks (mapcar #'smith-edit--hunk hunks)
                made (smith-edit--made hunks))
          (smith-edit--failed (smith-apply-hunks hunks)))
        (smith-edit--applied self (plist-get params :change) made))))

(defun smith-edit--made (hunks)
  "Return HUNKS, which are not made yet, as they will be: lists (BEG OLD NEW)."
  (let ((shift 0))
    (mapcar (pcase-lambda (`(,beg ,end ,new))
              (prog1 (list (+ beg shift) (buffer-substring-no-properties beg end) new)
                (cl-incf shift (- (length new) (- end beg)))))
            hunks)))

(defun smith-edit--failed (problem)
  "Return the receipt for PROBLEM, an error of `smith-apply-hunks', nil for none."
  (when problem
    (smith-edit--receipt
     (if (memq (car problem) '(buffer-read-only text-read-only)) "read_only" "failed")
     (error-message-string problem))))

(defun smith-edit--applied (self change hunks)
  "Return the receipt of CHANGE, whose HUNKS have just been made in this buffer.
The server of SELF gets the new text before it gets the receipt."
  (let ((hash (smith-text-hash)))
    (smith-sync-flush (current-buffer))
    (let ((receipt (smith-edit--receipt
                    "applied"
                    (and (eq buffer-undo-list t) "undo is off in this buffer")
                    :version (smith-sync-version (current-buffer))
                    :hash hash)))
      (smith-edit--remember self change receipt)
      (when (smith-edit-applied self)
        ;; The change is made, whatever becomes of this.
        (with-demoted-errors "smith: %S"
          (funcall (smith-edit-applied self) change hunks)))
      receipt)))

;;; Guards: each returns a receipt that refuses, or nil

(defun smith-edit--unfit ()
  "Refuse if this buffer is not to be edited."
  (let ((conflict nil))
    (cond
     (buffer-read-only
      (smith-edit--receipt "read_only" "the buffer is read-only"))
     ((> (smith-text-size) smith-edit--max-bytes)
      (smith-edit--receipt "refused" "the document is larger than 10 MB"))
     ((smith-text-find "\0")
      (smith-edit--receipt "refused" "the document holds NUL bytes"))
     ((not (smith-text-unicode-p))
      (smith-edit--receipt
       "refused" "the document holds bytes that are no Unicode text"))
     ((smith-text-only-cr-p)
      (smith-edit--receipt "refused" "the only line ends of the document are CR, \
on which editors do not agree"))
     ((setq conflict (smith-buffers-conflict))
      (smith-edit--receipt "refused" conflict)))))

(defun smith-edit--moved (edits base-hash)
  "Refuse if the text is not that of BASE-HASH, or not the old text of EDITS."
  (cond
   ((not (equal base-hash (smith-text-hash)))
    (smith-edit--stale edits "the text changed since it was read"))
   ((not (seq-every-p #'smith-edit--span edits))
    (smith-edit--stale edits "a range of the edit is not in the text"))
   ((not (seq-every-p #'smith-edit--fresh-p edits))
    (smith-edit--stale
     edits "the text at a range of the edit is not what it replaces"))))

(defun smith-edit--span (edit)
  "Return where EDIT is, as (BEG . END), nil if the text has no such place."
  (let* ((range (plist-get edit :range))
         (beg (smith-text-place (plist-get range :start)))
         (end (smith-text-place (plist-get range :end))))
    (and beg end (<= beg end) (cons beg end))))

(defun smith-edit--fresh-p (edit)
  "Return non-nil if the text at EDIT is its old one."
  (let ((span (smith-edit--span edit)))
    (equal (smith-text-between (car span) (cdr span)) (plist-get edit :old))))

(defun smith-edit--unfit-hunks (hunks)
  "Refuse HUNKS that cannot be made; their texts are those of the document."
  (cond
   ((cl-loop for (hunk next) on hunks
             thereis (and next (< (car next) (nth 1 hunk))))
    (smith-edit--receipt "refused" "ranges of the edit overlap"))
   ((seq-some #'smith-edit--locked-p hunks)
    (smith-edit--receipt "read_only" "the text at a range is read-only"))
   ((seq-some (lambda (hunk) (string-match-p "\0" (nth 2 hunk))) hunks)
    (smith-edit--receipt "refused" "the new text holds a NUL byte"))
   ((not (seq-every-p (lambda (hunk) (smith-buffers-holds-p (nth 2 hunk))) hunks))
    (smith-edit--receipt
     "refused" "the encoding of the file cannot hold the new text"))
   ((seq-some #'smith-edit--bare-p hunks)
    (smith-edit--receipt "refused" "the new text holds a line end that is not \
CRLF, in a document whose lines end so"))))

(defun smith-edit--locked-p (hunk)
  "Return non-nil if there is read-only text in HUNK."
  (text-property-not-all (car hunk) (nth 1 hunk) 'read-only nil))

(defun smith-edit--bare-p (hunk)
  "Return non-nil if HUNK has a line end that the document's are not."
  (and (eq (smith-text-eol) 'dos)
       (string-match-p "\\(?:\\`\\|[^\r]\\)\n" (nth 2 hunk))))

;;; Hunks

(defun smith-edit--hunks (edits)
  "Return EDITS as hunks in order; at one place an insertion stands first."
  (let ((hunks (mapcar (lambda (edit)
                         (let ((span (smith-edit--span edit)))
                           (list (car span) (cdr span) (plist-get edit :newText))))
                       edits)))
    (sort hunks (lambda (one other)
                  (or (< (car one) (car other))
                      (and (= (car one) (car other))
                           (< (nth 1 one) (nth 1 other))))))))

(defun smith-edit--hunk (hunk)
  "Return HUNK with its text as it is in the buffer."
  (list (car hunk) (nth 1 hunk)
        (if (eq (smith-text-eol) 'dos)
            (string-replace "\r\n" "\n" (nth 2 hunk))
          (nth 2 hunk))))

(provide 'smith-edit)
;;; smith-edit.el ends here
