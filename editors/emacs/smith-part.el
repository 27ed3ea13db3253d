;;; smith-part.el --- What a chat is made of  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Data: a conversation (a talk) and its parts, in the order in which they are
;; shown.  Parts are changed in place, so that a piece of text costs the same
;; however long the talk is.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(require 'cl-lib)

(cl-defstruct (smith-body (:constructor smith-body-new) (:copier nil))
  "A text that grows: its CHUNKS, newest first, and their COUNT.
VERSION grows when the text is replaced."
  chunks (count 0) (version 0))

(cl-defstruct (smith-part (:copier nil))
  "Something that a chat shows.")

(cl-defstruct (smith-part-prompt (:include smith-part) (:copier nil))
  "What the person said, or a COMMAND that was typed."
  text command)

(cl-defstruct (smith-part-text (:include smith-part) (:copier nil))
  "An answer of the model, or a piece of one."
  message (body (smith-body-new)))

(cl-defstruct (smith-part-thinking (:include smith-part) (:copier nil))
  "What the model thought; DONE when no more comes."
  message (body (smith-body-new)) done)

(cl-defstruct (smith-part-call (:include smith-part) (:copier nil))
  "A tool call.  STATUS is `running', `ok', `failed' or `lost'.
OUTPUT came while it ran, BELOW is what children did for it, CONTENT is the
result; DURATION is in ms."
  id name (arguments "") (title "") (status 'running) (output "") (below "")
  summary content diff (duration 0))

(cl-defstruct (smith-part-question (:include smith-part) (:copier nil))
  "A question about a call.  DECISION is a string when it is answered.
SAVES are files that are saved first; TOLD is set by who has pointed at it."
  id name (title "") (reason "") (diff "") saves role decision told)

(cl-defstruct (smith-part-notice (:include smith-part) (:copier nil))
  "News that are no part of the conversation.
LEVEL is \"info\", \"warning\", \"error\", or \"quiet\" among the calls."
  level text)

(cl-defstruct (smith-talk (:constructor smith-talk-new (id)) (:copier nil))
  "A conversation.  PARTS are what is shown, newest first.
MESSAGES, CALLS and QUESTIONS find the parts of the running turn by id; ASKING
holds the ids of open questions, oldest first.  QUEUE holds the prompts that
wait, as (ID . TEXT), oldest first.  TURN is nil or what runs or ran last: its
id, status and prompt as a list, where the status is `running', `completed',
`cancelled', `failed' or `lost'.  STATUS and NOTE are for the mode line.
CONTEXT counts the tokens of the last request, COST are US dollars or nil.
OPEN are the messages of the request that runs.  BEFORE tells where the stored
page before this one begins.
HOLDER is the process that writes it when that is another one; it is GONE when
the server knows it no more.  PROMPT is that of the running turn, until the
message that it became is told.  JOBS finds calls by the children below them, PLAN
is a vector of steps, COMPACTING the notice about a compaction that goes on."
  id (root "") (title "") parts
  (messages (make-hash-table :test #'equal))
  (calls (make-hash-table :test #'equal))
  (questions (make-hash-table :test #'equal))
  (jobs (make-hash-table :test #'equal))
  asking queue turn (status 'idle) note (model "") usage (context 0) cost open before
  holder gone prompt (plan []) compacting)

(defun smith-body-append (self text)
  "Let SELF grow by TEXT."
  (push text (smith-body-chunks self))
  (cl-incf (smith-body-count self)))

(defun smith-body-text (self)
  "Return the text of SELF."
  (apply #'concat (reverse (smith-body-chunks self))))

(defun smith-body-since (self count)
  "Return what SELF has grown by since it had COUNT chunks."
  (apply #'concat (nreverse (cl-subseq (smith-body-chunks self) 0
                                       (- (smith-body-count self) count)))))

(defun smith-body-replace (self text)
  "Let SELF be TEXT."
  (setf (smith-body-chunks self) (list text)
        (smith-body-count self) 1)
  (cl-incf (smith-body-version self)))

(defun smith-talk-running-p (self)
  "Return non-nil if SELF has a running turn."
  (eq (nth 1 (smith-talk-turn self)) 'running))

(provide 'smith-part)
;;; smith-part.el ends here
