;;; smith-record.el --- Parts added, changed and taken away  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What the reducer does to a talk, each deed noted for whoever draws it.
;;
;; Requires `smith-news' and `smith-part' of this package, and must not require
;; more.

;;; Code:

(require 'cl-lib)
(require 'smith-news)
(require 'smith-part)

(defconst smith-record--output-size 16384
  "How many characters of the output of a call are kept.")

(cl-defstruct (smith-changed (:constructor smith-changed-new (talk switched))
                                   (:copier nil))
  "What an event did to TALK.
PARTS are new or changed, oldest first, REMOVED are gone.  SWITCHED: another
talk is shown now.  RETURNED is the text of a prompt that will not run."
  talk switched parts removed returned)

(defun smith-record-touch (changed part)
  "Note in CHANGED that PART is to be drawn."
  (unless (memq part (smith-changed-parts changed))
    (push part (smith-changed-parts changed))))

(defun smith-record-add (talk changed part)
  "Add PART to TALK, note it in CHANGED, and return it."
  (smith-record-end-thinking talk changed)
  (push part (smith-talk-parts talk))
  (smith-record-touch changed part)
  part)

(defun smith-record-notice (talk changed level text)
  "Add a notice of LEVEL with TEXT to TALK and CHANGED.
A failure may come as an error and again as the end of the turn."
  (let ((last (car (smith-talk-parts talk))))
    (unless (and (smith-part-notice-p last)
                 (equal (smith-part-notice-text last) text))
      (smith-record-add talk changed
                        (make-smith-part-notice :level level :text text)))))

(defun smith-record-end-thinking (talk changed)
  "Note in CHANGED that thinking in TALK is over."
  (let ((last (car (smith-talk-parts talk))))
    (when (and (smith-part-thinking-p last) (not (smith-part-thinking-done last)))
      (setf (smith-part-thinking-done last) t)
      (smith-record-touch changed last))))

(defun smith-record--message (part)
  "Return the message of PART, nil if it has none."
  (cond
   ((smith-part-text-p part) (smith-part-text-message part))
   ((smith-part-thinking-p part) (smith-part-thinking-message part))))

(defun smith-record-grow (talk event changed kind)
  "Let the last part of TALK grow by the text of EVENT, if it is of KIND.
Else begin one; KIND is `smith-part-text' or `smith-part-thinking'.  Note it in
CHANGED."
  (let ((last (car (smith-talk-parts talk)))
        (message (plist-get event :message)))
    (if (and last (eq (type-of last) kind) (equal (smith-record--message last) message))
        (smith-record-touch changed last)
      (setq last (smith-record-add
                  talk changed
                  (if (eq kind 'smith-part-text)
                      (make-smith-part-text :message message)
                    (make-smith-part-thinking :message message))))
      (push last (gethash message (smith-talk-messages talk)))
      (cl-pushnew message (smith-talk-open talk) :test #'equal))
    (smith-body-append (smith-record--body last) (plist-get event :text))))

(defun smith-record--body (part)
  "Return the body of PART, which is text or thinking."
  (if (smith-part-text-p part)
      (smith-part-text-body part)
    (smith-part-thinking-body part)))

(defun smith-record-heard (talk changed text)
  "Add TEXT, which the person said, to TALK and CHANGED.
The prompt itself was shown when its turn began."
  (cond
   ((equal text (smith-talk-prompt talk))
    (setf (smith-talk-prompt talk) nil))
   ((not (member text '(nil "")))
    (smith-record-add talk changed (make-smith-part-prompt :text text)))))

(defun smith-record-compacting (talk changed)
  "Note in TALK and CHANGED that a compaction has begun."
  (setf (smith-talk-compacting talk)
        (smith-record-add talk changed
                          (make-smith-part-notice :level "quiet"
                                                  :text smith-news-compacting))))

(defun smith-record-compacted (talk changed text)
  "Let TEXT stand for the compaction that went on in TALK; note it in CHANGED.
Return nil if there was none."
  (let ((notice (smith-talk-compacting talk)))
    (when notice
      (setf (smith-part-notice-text notice) text
            (smith-talk-compacting talk) nil)
      (smith-record-touch changed notice)
      t)))

(defun smith-record-tail (text more)
  "Return TEXT and MORE, as much of the end as is kept."
  (let ((whole (concat text more)))
    (substring whole (max 0 (- (length whole) smith-record--output-size)))))

(defun smith-record-child (talk event)
  "Find the call of TALK that the child of EVENT works under, however deep.
Return nil if it is not known."
  (let* ((parent (plist-get event :parent))
         (call (if (member parent '(nil ""))
                   (gethash (plist-get event :call) (smith-talk-calls talk))
                 (gethash parent (smith-talk-jobs talk)))))
    (when call
      (puthash (plist-get event :job) call (smith-talk-jobs talk)))))

(defun smith-record-unqueue (talk event)
  "Take the prompt with which the turn of EVENT begins from the queue of TALK.
A server may name it, or only say its text again."
  (let* ((queued (plist-get event :queued))
         (waiting (if (member queued '(nil ""))
                      (rassoc (plist-get event :text) (smith-talk-queue talk))
                    (assoc queued (smith-talk-queue talk)))))
    (cl-callf2 delq waiting (smith-talk-queue talk))))

(defun smith-record-error (event &optional otherwise)
  "Return what went wrong by EVENT, of a server of any version, else OTHERWISE."
  (let ((problem (plist-get event :error)))
    (or (and (consp problem) (plist-get problem :message))
        (plist-get event :message)
        otherwise
        "Something failed; the log of the server has more.")))

(defun smith-record-end-turn (talk changed event status)
  "Note in TALK and CHANGED that the turn has ended with STATUS, by EVENT."
  (smith-record-end-thinking talk changed)
  (smith-record-compacted talk changed smith-news-not-compacted)
  (maphash (lambda (_id call)
             (when (eq (smith-part-call-status call) 'running)
               (setf (smith-part-call-status call) 'lost)
               (smith-record-touch changed call)))
           (smith-talk-calls talk))
  (dolist (id (smith-talk-asking talk))
    (let ((question (gethash id (smith-talk-questions talk))))
      (setf (smith-part-question-decision question) "withdrawn")
      (smith-record-touch changed question)))
  (clrhash (smith-talk-messages talk))
  (clrhash (smith-talk-calls talk))
  (clrhash (smith-talk-jobs talk))
  (clrhash (smith-talk-questions talk))
  (setf (smith-talk-asking talk) nil
        (smith-talk-open talk) nil
        (smith-talk-note talk) nil
        (smith-talk-status talk) (if (eq status 'failed) 'error 'idle)
        (smith-talk-usage talk) (or (plist-get event :usage) (smith-talk-usage talk)))
  (when (smith-talk-turn talk)
    (setf (nth 1 (smith-talk-turn talk)) status)))

(provide 'smith-record)
;;; smith-record.el ends here
