;;; smith-news.el --- What goes on beside the answer, in words  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Compactions, the plan, commands in the background and the like as one quiet
;; line each.  Every front-end says the same.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(require 'subr-x)

(defconst smith-news-compacting "compacting the conversation …"
  "Stands where a compaction goes on.")

(defconst smith-news-not-compacted "the conversation was not compacted"
  "Stands where a compaction came to nothing.")

(defconst smith-news-released "Nobody else has this conversation open any more."
  "Said when a conversation can be written again.")

(defconst smith-news-deleted "This conversation was deleted."
  "Said when a conversation is gone.")

(defconst smith-news--boxes
  '(("pending" . "[ ]") ("in_progress" . "[>]") ("completed" . "[x]"))
  "Signs of the steps of a plan.")

(defun smith-news--tokens (count)
  "Return COUNT tokens in few characters."
  (cond ((< count 1000) (number-to-string count))
        ((< count 1000000) (format "%.1fk" (/ count 1000.0)))
        (t (format "%.1fM" (/ count 1000000.0)))))

(defun smith-news-retried (event why)
  "Return EVENT, another attempt because of WHY, in words."
  (format "%s; attempt %d in %s s" (string-remove-suffix "." why)
          (plist-get event :attempt)
          (string-remove-suffix
           ".0" (number-to-string (/ (or (plist-get event :delay_ms) 0) 1000.0)))))

(defun smith-news--compacted (event)
  "Return EVENT, the end of a compaction, in words."
  (let ((steps (append (plist-get event :steps) nil)))
    (if (not steps)
        smith-news-not-compacted
      (format "compacted from %s to %s tokens (%s)"
              (smith-news--tokens (plist-get event :before))
              (smith-news--tokens (plist-get event :after))
              (string-join steps ", ")))))

(defun smith-news--continued (event)
  "Return EVENT, an answer past its limit or a paused one, in words."
  (format "%s; going on (%d)%s"
          (if (eq (plist-get event :paused) t)
              "the provider paused the answer"
            "the answer reached the output limit")
          (plist-get event :attempt)
          (if (eq (plist-get event :dropped) t)
              "; its calls were dropped, the limit may have cut them"
            "")))

(defun smith-news--plan (todos)
  "Return TODOS, a plan, as lines under a head."
  (if (not todos)
      "nothing is planned any more"
    (mapconcat #'identity
               (cons "plan"
                     (mapcar (lambda (todo)
                               (concat (or (cdr (assoc (plist-get todo :status)
                                                       smith-news--boxes))
                                           "[ ]")
                                       " " (plist-get todo :content)))
                             todos))
               "\n")))

(defun smith-news--job-ended (event)
  "Return EVENT, the end of a command in the background, in words."
  (let ((code (plist-get event :exit_code)))
    (format "%s %s (%.1f s)"
            (plist-get event :id)
            (pcase (plist-get event :state)
              ("timed_out" "ran out of time")
              ("killed" "was killed")
              (_ (if (integerp code)
                     (format "ended with exit code %d" code)
                   "was ended by a signal")))
            (or (plist-get event :seconds) 0))))

(defun smith-news-words (event)
  "Return EVENT in words for a quiet line, nil if there are none for it."
  (pcase (plist-get event :kind)
    ("response_continued" (smith-news--continued event))
    ("context_compacted" (smith-news--compacted event))
    ("todos_updated" (smith-news--plan (append (plist-get event :todos) nil)))
    ("job_started"
     (format "%s runs in the background: %s" (plist-get event :id)
             (car (split-string (string-trim (plist-get event :command)) "\n"))))
    ("job_ended" (smith-news--job-ended event))))

(provide 'smith-news)
;;; smith-news.el ends here
