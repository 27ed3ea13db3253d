;;; smith-fold.el --- What each kind of event does  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One method for each kind of event of the server: what it does to the talk
;; that it belongs to, and what that changes.  Touches no buffer and sends
;; nothing.
;;
;; Requires `smith-news', `smith-part', `smith-record' and `smith-table' of this
;; package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'smith-news)
(require 'smith-part)
(require 'smith-record)
(require 'smith-table)

;;; Sessions, prompts, turns

(cl-defgeneric smith-fold-event (_kind talk event changed)
  "Take EVENT of KIND, a symbol, into TALK and note it in CHANGED.
What has no method of its own is a quiet line, if there are words for it."
  (let ((words (smith-news-words event)))
    (when words
      (smith-record-notice talk changed "quiet" words))))

(cl-defmethod smith-fold-event ((_ (eql 'session_started)) talk event _changed)
  "Take EVENT into TALK."
  (setf (smith-talk-root talk) (or (plist-get event :root) "")
        (smith-talk-title talk) (or (plist-get event :title) "")
        (smith-talk-holder talk) (plist-get event :holder)
        (smith-talk-gone talk) nil))

(cl-defmethod smith-fold-event ((_ (eql 'conversation_changed)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (pcase (plist-get event :change)
    ("renamed" (setf (smith-talk-title talk) (or (plist-get event :title) "")))
    ("moved" (setf (smith-talk-root talk) (or (plist-get event :root) "")))
    ("released"
     (setf (smith-talk-holder talk) nil)
     (smith-record-notice talk changed "info" smith-news-released))
    ("deleted"
     (setf (smith-talk-gone talk) t)
     (smith-record-notice talk changed "warning" smith-news-deleted))))

(cl-defmethod smith-fold-event ((_ (eql 'session_failed)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-end-turn talk changed event 'failed)
  (smith-record-notice talk changed "error" (smith-record-error event)))

(cl-defmethod smith-fold-event ((_ (eql 'session_stopped)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-end-turn talk changed event 'completed))

(cl-defmethod smith-fold-event ((_ (eql 'prompt_queued)) talk event _changed)
  "Take EVENT into TALK."
  (cl-callf append (smith-talk-queue talk)
    (list (cons (plist-get event :id) (plist-get event :text)))))

(cl-defmethod smith-fold-event ((_ (eql 'prompt_edited)) talk event _changed)
  "Take EVENT into TALK."
  (let ((waiting (assoc (plist-get event :id) (smith-talk-queue talk))))
    (when waiting
      (setcdr waiting (plist-get event :text)))))

(cl-defmethod smith-fold-event ((_ (eql 'prompt_taken)) talk event _changed)
  "Take EVENT into TALK."
  (cl-callf2 assoc-delete-all (plist-get event :id) (smith-talk-queue talk)))

(cl-defmethod smith-fold-event ((_ (eql 'prompt_dropped)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (cl-callf2 assoc-delete-all (plist-get event :id) (smith-talk-queue talk))
  (setf (smith-changed-returned changed) (plist-get event :text))
  (smith-record-notice talk changed "info" (concat "not sent: " (plist-get event :text))))

(cl-defmethod smith-fold-event ((_ (eql 'turn_started)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-unqueue talk event)
  (setf (smith-talk-turn talk) (list (plist-get event :turn) 'running
                                     (plist-get event :text))
        (smith-talk-prompt talk) (plist-get event :text)
        (smith-talk-model talk) (or (plist-get event :model) "")
        (smith-talk-status talk) 'thinking
        (smith-talk-usage talk) nil)
  (smith-record-add talk changed
                    (make-smith-part-prompt :text (plist-get event :text))))

(cl-defmethod smith-fold-event ((_ (eql 'turn_cancel_requested)) talk _event _changed)
  "Take it into TALK."
  (setf (smith-talk-status talk) 'cancelling))

(cl-defmethod smith-fold-event ((_ (eql 'turn_completed)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-end-turn talk changed event 'completed)
  (when (equal (plist-get event :stop_reason) "budget_exhausted")
    (smith-record-notice talk changed "warning"
                         "Stopped: the budget of this turn is used up.")))

(cl-defmethod smith-fold-event ((_ (eql 'turn_cancelled)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-end-turn talk changed event 'cancelled)
  (smith-record-notice talk changed "info" "Cancelled."))

(cl-defmethod smith-fold-event ((_ (eql 'turn_error)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-end-turn talk changed event 'failed)
  (smith-record-notice talk changed "error" (smith-record-error event)))

;;; The words of the model

(cl-defmethod smith-fold-event ((_ (eql 'llm_request_started)) talk event _changed)
  "Take EVENT into TALK."
  (setf (smith-talk-model talk) (or (plist-get event :model) (smith-talk-model talk))
        (smith-talk-status talk) 'thinking
        (smith-talk-note talk) nil
        (smith-talk-open talk) nil))

(cl-defmethod smith-fold-event ((_ (eql 'llm_retry)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (let ((problem (smith-record-error event "the request failed"))
        (attempt (plist-get event :attempt)))
    (setf (smith-talk-note talk)
          (if attempt (smith-news-retried event problem) problem))
    (when (eq (plist-get event :discard_output) t)
      (dolist (id (smith-talk-open talk))
        (dolist (part (gethash id (smith-talk-messages talk)))
          (cl-callf2 delq part (smith-talk-parts talk))
          (push part (smith-changed-removed changed)))
        (remhash id (smith-talk-messages talk))))))

(cl-defmethod smith-fold-event ((_ (eql 'llm_reasoning_delta)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (setf (smith-talk-status talk) 'thinking)
  (smith-record-grow talk event changed 'smith-part-thinking))

(cl-defmethod smith-fold-event ((_ (eql 'llm_output_delta)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (setf (smith-talk-status talk) 'streaming)
  (smith-record-grow talk event changed 'smith-part-text))

(defun smith-fold--texts (talk message)
  "Return the parts of TALK that show the text of MESSAGE."
  (cl-remove-if-not #'smith-part-text-p
                    (gethash (plist-get message :id) (smith-talk-messages talk))))

(cl-defmethod smith-fold-event ((_ (eql 'message_added)) talk event changed)
  "Take EVENT into TALK and CHANGED.
Its text is shown already; where pieces were missed it puts them right."
  (let* ((message (plist-get event :message))
         (text (plist-get message :text))
         (shown (smith-fold--texts talk message)))
    (cond
     ((equal (plist-get message :role) "user")
      (smith-record-heard talk changed text))
     ((member text '(nil "")))
     ((null shown)
      (smith-record-grow talk (list :message (plist-get message :id) :text text)
                         changed 'smith-part-text))
     ((and (null (cdr shown))
           (not (equal text (smith-body-text (smith-part-text-body (car shown))))))
      (smith-body-replace (smith-part-text-body (car shown)) text)
      (smith-record-touch changed (car shown))))
    (dolist (part (smith-fold--texts talk message))
      (let ((aligned (smith-table-aligned (smith-body-text (smith-part-text-body part)))))
        (when aligned
          (smith-body-replace (smith-part-text-body part) aligned)
          (smith-record-touch changed part))))))

(cl-defmethod smith-fold-event ((_ (eql 'usage_updated)) talk event _changed)
  "Take EVENT into TALK."
  (setf (smith-talk-usage talk) (plist-get event :turn_usage)
        (smith-talk-context talk) (or (plist-get event :context) 0)
        (smith-talk-cost talk) (let ((cost (plist-get event :cost)))
                                 (and (numberp cost) cost))))

;;; News

(cl-defmethod smith-fold-event ((_ (eql 'compaction_started)) talk _event changed)
  "Take it into TALK and CHANGED."
  (smith-record-compacting talk changed))

(cl-defmethod smith-fold-event ((_ (eql 'context_compacted)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (unless (smith-record-compacted talk changed (smith-news-words event))
    (cl-call-next-method)))

(cl-defmethod smith-fold-event ((_ (eql 'todos_updated)) talk event _changed)
  "Take EVENT into TALK and CHANGED."
  (unless (equal (plist-get event :todos) (smith-talk-plan talk))
    (setf (smith-talk-plan talk) (plist-get event :todos))
    (cl-call-next-method)))

(cl-defmethod smith-fold-event ((_ (eql 'notice)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-notice talk changed (plist-get event :level) (plist-get event :text)))

(cl-defmethod smith-fold-event ((_ (eql 'agent_error)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-notice talk changed "error" (smith-record-error event)))

(cl-defmethod smith-fold-event ((_ (eql 'persistence_error)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (smith-record-notice talk changed "warning"
                       (concat "Not stored: " (smith-record-error event))))

;;; Calls and questions

(cl-defmethod smith-fold-event ((_ (eql 'tool_call_started)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (setf (smith-talk-status talk) 'tool)
  (puthash (plist-get event :call_id)
           (smith-record-add
            talk changed
            (make-smith-part-call :id (plist-get event :call_id)
                                  :name (plist-get event :name)
                                  :arguments (or (plist-get event :arguments) "")
                                  :title (or (plist-get event :title) "")))
           (smith-talk-calls talk)))

(cl-defmethod smith-fold-event ((_ (eql 'tool_call_progress)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (let ((call (gethash (plist-get event :call_id) (smith-talk-calls talk))))
    (when call
      (cl-callf smith-record-tail (smith-part-call-output call) (plist-get event :text))
      (smith-record-touch changed call))))

(cl-defmethod smith-fold-event ((_ (eql 'tool_call_finished)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (let* ((id (plist-get event :call_id))
         (call (or (gethash id (smith-talk-calls talk))
                   (smith-fold-event 'tool_call_started talk event changed))))
    (setf (smith-part-call-status call) (if (eq (plist-get event :ok) t) 'ok 'failed)
          (smith-part-call-summary call) (plist-get event :summary)
          (smith-part-call-content call) (or (plist-get event :content) "")
          (smith-part-call-diff call) (or (plist-get event :diff) "")
          (smith-part-call-duration call) (or (plist-get event :duration_ms) 0)
          (smith-talk-note talk) nil
          (smith-talk-status talk) (if (smith-talk-asking talk) 'waiting 'thinking))
    (smith-record-touch changed call)))

(cl-defmethod smith-fold-event ((_ (eql 'approval_asked)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (let ((id (plist-get event :id)))
    (setf (smith-talk-status talk) 'waiting)
    (cl-callf append (smith-talk-asking talk) (list id))
    (puthash id (smith-record-add
                 talk changed
                 (make-smith-part-question :id id
                                           :name (plist-get event :name)
                                           :title (or (plist-get event :title) "")
                                           :reason (or (plist-get event :reason) "")
                                           :diff (or (plist-get event :diff) "")
                                           :saves (append (plist-get event :saves) nil)
                                           :role (plist-get event :role)))
             (smith-talk-questions talk))))

(cl-defmethod smith-fold-event ((_ (eql 'approval_answered)) talk event changed)
  "Take EVENT into TALK and CHANGED."
  (let* ((id (plist-get event :id))
         (question (gethash id (smith-talk-questions talk))))
    (cl-callf2 delete id (smith-talk-asking talk))
    (when question
      (setf (smith-part-question-decision question) (plist-get event :decision))
      (smith-record-touch changed question)
      (remhash id (smith-talk-questions talk)))
    (setf (smith-talk-status talk) (if (smith-talk-asking talk) 'waiting 'tool))))

(cl-defmethod smith-fold-event ((_ (eql 'edit_waiting)) talk event _changed)
  "Take EVENT into TALK."
  (setf (smith-talk-note talk)
        (format "an edit of %s waits for you: %s"
                (plist-get event :path) (plist-get event :reason))))

;;; Children: shown inside the call that started them

(cl-defgeneric smith-fold-child (kind talk event changed _call)
  "Take EVENT of KIND, a symbol, of a child below CALL into TALK and CHANGED."
  (when (memq kind '(approval_asked approval_answered edit_waiting))
    (smith-fold-event kind talk event changed)))

(cl-defmethod smith-fold-child ((_ (eql 'tool_call_started)) _talk event changed call)
  "Let CALL tell of EVENT, and note that in CHANGED."
  (when call
    (let ((line (concat (string-trim
                         (format "%s: %s %s" (or (plist-get event :role) "child")
                                 (plist-get event :name) (or (plist-get event :title) "")))
                        "\n")))
      (cl-callf smith-record-tail (smith-part-call-output call) line)
      (cl-callf smith-record-tail (smith-part-call-below call) line)
      (smith-record-touch changed call))))

;;; Not of the server: news of our own, in the same fold

(cl-defmethod smith-fold-event ((_ (eql 'local_answer)) talk event changed)
  "Take EVENT, the answer to a command line, into TALK and CHANGED."
  (when (and (eq (smith-talk-status talk) 'error)
             (not (equal (plist-get event :level) "error")))
    (setf (smith-talk-status talk) 'idle))
  (when (plist-get event :text)
    (smith-record-add talk changed
                      (make-smith-part-prompt :text (plist-get event :line) :command t))
    (smith-record-notice talk changed (plist-get event :level) (plist-get event :text))))

(cl-defmethod smith-fold-event ((_ (eql 'local_server_ended)) talk event changed)
  "Take EVENT, the end of the server, into TALK and CHANGED."
  (when (smith-talk-running-p talk)
    (smith-record-end-turn talk changed event 'lost)
    (smith-record-notice talk changed "error" (plist-get event :text))))

(provide 'smith-fold)
;;; smith-fold.el ends here
