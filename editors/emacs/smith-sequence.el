;;; smith-sequence.el --- Events in their order  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Events are numbered by one, so that a gap shows.  What was missed is asked
;; for again, and where the server has not kept it the conversation is loaded
;; anew.  Knows the connection only by the functions that it is given.
;;
;; Requires `smith-protocol' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-protocol)

(cl-defstruct (smith-sequence (:constructor smith-sequence-new) (:copier nil))
  "The order of the events of one connection.
PASS gets each event in its turn.  STORED gets the answer with a stored
conversation, nil and a problem.  ASK runs a command with an argument and a
callback and returns non-nil if the server has that command.  SHOWN returns the
id of the conversation that is shown.  LAST is the number of the last event;
HELD are those that came while HOLDING, newest first.  Of the LOADS that were
begun only the last one counts."
  pass stored ask shown last held holding (loads 0))

(defconst smith-sequence--told-once '("notice" "agent_error" "persistence_error")
  "Kinds of events that are not stored, and so no part of what is loaded.")

(defun smith-sequence-restart (self)
  "Let SELF count anew, as with a new connection."
  (setf (smith-sequence-last self) nil
        (smith-sequence-held self) nil
        (smith-sequence-holding self) nil))

(defun smith-sequence-take (self event)
  "Take EVENT of the wire into SELF."
  (let ((gap (smith-sequence--gap-p self event)))
    (cond
     ((smith-sequence-holding self)
      (push event (smith-sequence-held self)))
     ((equal (plist-get event :kind) "resync")
      (smith-sequence-load self))
     (gap
      (setf (smith-sequence-holding self) t)
      (push event (smith-sequence-held self))
      (smith-sequence--ask-again self))
     (t
      (smith-sequence--pass self event)))))

(defun smith-sequence--gap-p (self event)
  "Return non-nil if events before EVENT did not reach SELF."
  (let ((number (plist-get event :seq))
        (last (smith-sequence-last self)))
    (and number last (> number (1+ last)))))

(defun smith-sequence--pass (self event)
  "Hand EVENT on, unless SELF had it already."
  (let ((number (plist-get event :seq))
        (last (smith-sequence-last self)))
    (unless (and number last (<= number last))
      (setf (smith-sequence-last self) (or number last))
      (funcall (smith-sequence-pass self) event))))

(defun smith-sequence--release (self)
  "Take in what was held by SELF; there may be a gap in it again."
  (let ((held (nreverse (smith-sequence-held self))))
    (setf (smith-sequence-held self) nil
          (smith-sequence-holding self) nil)
    (dolist (event held)
      (smith-sequence-take self event))))

(defun smith-sequence-load (self &optional done)
  "Load the conversation that is shown, else the stored one of the project.
SELF counts on behind what the server has told with it.  Call DONE when it is
there."
  (let* ((this (cl-incf (smith-sequence-loads self)))
         (shown (funcall (smith-sequence-shown self)))
         (taken (lambda (result problem)
                  (when (= this (smith-sequence-loads self))
                    (smith-sequence--loaded self result problem)
                    (smith-sequence--release self))
                  (when done
                    (funcall done)))))
    (setf (smith-sequence-last self) nil
          (smith-sequence-holding self) t)
    (unless (funcall (smith-sequence-ask self) smith-protocol-command-conversations
                     (append '(:op "load") (and shown (list :conversation shown)))
                     taken)
      (funcall taken nil nil))))

(defun smith-sequence--loaded (self result problem)
  "Hand on RESULT, the conversation that SELF has loaded, or PROBLEM.
What was told meanwhile is part of it, but for what is told once."
  (let ((number (plist-get result :seq))
        (held (reverse (smith-sequence-held self))))
    (funcall (smith-sequence-stored self) result problem)
    (when (integerp number)
      (setf (smith-sequence-last self) number)
      (dolist (event held)
        (when (and (member (plist-get event :kind) smith-sequence--told-once)
                   (<= (or (plist-get event :seq) 0) number))
          (funcall (smith-sequence-pass self) event))))))

(defun smith-sequence--ask-again (self)
  "Ask for the events that SELF has missed."
  (unless (funcall (smith-sequence-ask self) smith-protocol-command-status
                   (list :since (smith-sequence-last self))
                   (lambda (result _problem)
                     (smith-sequence--fill self (plist-get result :events))))
    (smith-sequence-load self)))

(defun smith-sequence--fill (self events)
  "Take in EVENTS, if they are what SELF has missed, else load all anew."
  (let ((first (and (not (seq-empty-p events)) (plist-get (seq-elt events 0) :seq))))
    (if (not (and first (<= first (1+ (smith-sequence-last self)))))
        (smith-sequence-load self)
      (seq-doseq (event events)
        (smith-sequence--pass self event))
      (smith-sequence--release self))))

(provide 'smith-sequence)
;;; smith-sequence.el ends here
