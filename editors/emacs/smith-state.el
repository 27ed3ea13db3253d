;;; smith-state.el --- What a chat shows, out of events  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The talks of a project as a fold over the events of the server: one event
;; goes in, and what it changed comes out.  Touches no buffer and sends
;; nothing.  What each kind of event does stands in `smith-fold'.
;;
;; Requires `smith-fold', `smith-part' and `smith-record' of this package, and
;; must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-fold)
(require 'smith-part)
(require 'smith-record)

(defconst smith-state--before "What came before is stored and not shown here."
  "Stands above a conversation of which an older page is stored.")

(cl-defstruct (smith-state (:constructor smith-state-new) (:copier nil))
  "The TALKS of a project by id, and the id of the CURRENT one."
  (talks (make-hash-table :test #'equal)) current)

(defun smith-state-shown (self)
  "Return the talk of SELF that is shown, nil if there is none."
  (gethash (or (smith-state-current self) "") (smith-state-talks self)))

(defun smith-state-show (self id)
  "Let SELF show the talk ID and return it."
  (setf (smith-state-current self) id)
  (smith-state--talk self id))

(defun smith-state-reduce (self event)
  "Take EVENT, a plist, into SELF; return what it changed."
  (let* ((switched (smith-state--takes-over-p self event))
         (kind (intern-soft (plist-get event :kind)))
         (talk nil)
         (changed nil))
    (when switched
      (setf (smith-state-current self) (plist-get event :conversation)))
    (setq talk (smith-state--talk self (plist-get event :conversation))
          changed (smith-changed-new talk switched))
    (if (plist-get event :job)
        (smith-fold-child kind talk event changed (smith-record-child talk event))
      (smith-fold-event kind talk event changed))
    (cl-callf nreverse (smith-changed-parts changed))
    changed))

(defun smith-state-load (self page)
  "Show a conversation in SELF by PAGE, a stored one; return the talk."
  (let ((id (plist-get page :conversation)))
    (puthash id (smith-talk-new id) (smith-state-talks self))
    (setf (smith-state-current self) id)
    (seq-doseq (event (plist-get page :events))
      (smith-state-reduce self (if (plist-get event :conversation)
                                   event
                                 (append event (list :conversation id)))))
    (let ((talk (smith-state-show self id)))
      (smith-state--note-before talk page)
      talk)))

(defun smith-state--note-before (talk page)
  "Note in TALK what comes before PAGE, and let it be seen."
  (setf (smith-talk-before talk) (plist-get page :before))
  (when (smith-talk-before talk)
    (cl-callf append (smith-talk-parts talk)
      (list (make-smith-part-notice :level "info" :text smith-state--before)))))

(defun smith-state-page (self page)
  "Put PAGE, an older one, in front of the current talk of SELF.
Return the parts that are new, oldest first, and those that are gone."
  (let* ((talk (smith-state-shown self))
         (note (and (smith-talk-before talk) (last (smith-talk-parts talk))))
         (shown (if note (butlast (smith-talk-parts talk)) (smith-talk-parts talk)))
         (older (smith-talk-parts (smith-state-load (smith-state-new) page))))
    (setf (smith-talk-parts talk) (append shown older)
          (smith-talk-before talk) (plist-get page :before))
    (cons (reverse older) note)))

(defun smith-state--talk (self id)
  "Return the talk ID of SELF, made if it is not there; nil is the current one."
  (let ((id (if (member id '(nil "")) (or (smith-state-current self) "") id)))
    (or (gethash id (smith-state-talks self))
        (puthash id (smith-talk-new id) (smith-state-talks self)))))

(defun smith-state--takes-over-p (self event)
  "Return non-nil if with EVENT its conversation is the one to show in SELF."
  (let* ((id (plist-get event :conversation))
         (kind (plist-get event :kind))
         (known (gethash (or id "") (smith-state-talks self))))
    (not (or (member id (list nil "" (smith-state-current self)))
             (plist-get event :job)
             (and (smith-state-current self)
                  (not (equal kind "session_started"))
                  (or (not (equal kind "turn_started"))
                      (and known (smith-talk-holder known))))))))

(provide 'smith-state)
;;; smith-state.el ends here
