;;; smith-render.el --- Parts of a talk as text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One method per kind of part gives its text, which is lines without a final
;; line end.  A part that grows gives what is new instead, and keeps a tail:
;; how much of it is drawn, and what is held back because a text is shown
;; without the blank lines at its ends.  Draws nothing itself.
;;
;; Requires `smith-diff', `smith-label', `smith-options' and `smith-part' of
;; this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'smith-diff)
(require 'smith-label)
(require 'smith-options)
(require 'smith-part)

(defconst smith-render--limit 400
  "How many lines of a diff or an output are shown.")

(defconst smith-render--live 5
  "How many lines of the output of a running call are shown.")

(defconst smith-render--slow 1000
  "A call that took so many ms says so.")

(defconst smith-render--shortest 20
  "So many columns of a call stay in sight beside its outcome.")

(defconst smith-render--blank '(?\s ?\t ?\n ?\r ?\f ?\v)
  "Characters that are no words.")

(defconst smith-render--signs
  '((running "…" . smith-running) (ok "✓" . smith-ok) (failed "✗" . smith-failed)
    (lost "–" . smith-detail))
  "Sign and face of a call by its status.")

(defconst smith-render--levels
  '(("info" "i" . smith-info) ("quiet" "·" . smith-detail) ("warning" "!" . smith-warning)
    ("error" "✗" . smith-failed))
  "Sign and face of a notice by its level.")

(defconst smith-render--answered
  '(("yes" . "allowed") ("no" . "refused") ("always" . "always allowed")
    ("quit" . "refused, turn stopped") ("withdrawn" . "not answered"))
  "What became of a question, in words.")

(cl-defstruct (smith-render-tail (:constructor smith-render-tail-new) (:copier nil))
  "How much of a body is drawn: COUNT chunks of its VERSION.
HELD is the end of them that is not.  BEGUN: something is drawn.  FENCE is what
opened the code that the last line stands in."
  (count 0) (version 0) (held "") begun fence)

(cl-defgeneric smith-render (part width)
  "Return the text of PART for lines of WIDTH columns.
A part that is folded but for its first lines has the property `smith-body' on
the others.")

(cl-defgeneric smith-render-body (_part)
  "Return the body of a part that only grows, nil if it may change anywhere."
  nil)

(cl-defgeneric smith-render-gap (_previous _part)
  "Return how many blank lines stand between two parts."
  1)

(defun smith-render-work-p (part)
  "Return non-nil if PART belongs to others like it without a blank line between."
  (or (smith-part-call-p part) (smith-part-question-p part)
      (smith-part-thinking-p part)
      (and (smith-part-notice-p part) (equal (smith-part-notice-level part) "quiet"))))

(cl-defmethod smith-render-gap ((previous smith-part) (part smith-part))
  "Return how many blank lines stand between PREVIOUS and PART."
  (if (and (smith-render-work-p previous) (smith-render-work-p part)) 0 1))

(cl-defmethod smith-render-gap ((_previous null) (_part smith-part))
  "Before the first part there are none."
  0)

(defun smith-render--folded (lines)
  "Return LINES as the folded text of a part."
  (mapconcat (lambda (line) (propertize (concat "\n" line) 'smith-body t)) lines ""))

;;; What the person said, and news

(defun smith-render--signed (sign text face)
  "Return TEXT in FACE with SIGN before its first line, the others indented."
  (propertize (concat sign (string-replace "\n" "\n  " text))
              'face face 'wrap-prefix "  "))

(cl-defmethod smith-render ((part smith-part-prompt) _width)
  "Return the text of PART."
  (smith-render--signed "❯ " (smith-part-prompt-text part) 'smith-prompt))

(cl-defmethod smith-render ((part smith-part-notice) _width)
  "Return the text of PART."
  (let ((level (or (cdr (assoc (smith-part-notice-level part) smith-render--levels))
                   (cdar smith-render--levels))))
    (smith-render--signed (concat (car level) " ") (smith-part-notice-text part)
                          (cdr level))))

;;; The words of the model

(cl-defmethod smith-render ((_part smith-part-text) _width)
  "Everything comes as growth."
  "")

(cl-defmethod smith-render-body ((part smith-part-text))
  "Return the body of PART."
  (smith-part-text-body part))

(cl-defmethod smith-render ((part smith-part-thinking) _width)
  "Return the text of PART: its head; all of it when it is done."
  (if (not (smith-part-thinking-done part))
      (propertize "· thinking …" 'face 'smith-thinking)
    (let* ((text (smith-part-thinking-body part))
           (lines (split-string (smith-render-growth (smith-render-tail-new) text) "\n"))
           (count (length lines)))
      (propertize (concat (format "· thought, %d %s" count (if (= count 1) "line" "lines"))
                          (smith-render--folded (mapcar #'smith-label-indented lines)))
                  'face 'smith-thinking))))

(cl-defmethod smith-render-body ((part smith-part-thinking))
  "Return the body of PART while it grows."
  (and (not (smith-part-thinking-done part)) (smith-part-thinking-body part)))

(defun smith-render--shown (text begun)
  "Return how much of TEXT is shown: up to the end of its last line with words.
BEGUN: it goes on with a line of which something is shown."
  (let ((last (length text)))
    (while (and (> last 0) (memq (aref text (1- last)) smith-render--blank))
      (cl-decf last))
    (if (and (zerop last) (not begun))
        0
      (or (string-search "\n" text last) (length text)))))

(defun smith-render-growth (tail body)
  "Return the text that is new in BODY since TAIL, and note it there."
  (let* ((begun (smith-render-tail-begun tail))
         (text (concat (smith-render-tail-held tail)
                       (smith-body-since body (smith-render-tail-count tail))))
         (stop (smith-render--shown text begun)))
    (setf (smith-render-tail-count tail) (smith-body-count body)
          (smith-render-tail-version tail) (smith-body-version body)
          (smith-render-tail-held tail) (substring text stop)
          (smith-render-tail-begun tail) (or begun (> stop 0)))
    (if begun
        (substring text 0 stop)
      (replace-regexp-in-string "\\`\\(?:[ \t\r\f\v]*\n\\)+" ""
                                (substring text 0 stop)))))

(defun smith-render-indented-growth (tail body)
  "Return what is new in BODY since TAIL, as lines under a head, and note it.
A line is indented when its first character comes."
  (let* ((begun (smith-render-tail-begun tail))
         (text (smith-render-growth tail body)))
    (if (string-empty-p text)
        ""
      (propertize
       (replace-regexp-in-string "\n\\([^\n]\\)" (concat "\n" smith-label-indent "\\1")
                                 (if begun text (concat "\n" text)))
       'face 'smith-thinking))))

;;; Calls

(defun smith-render--outcome (call)
  "Return what became of CALL, as it stands behind its name."
  (pcase (smith-part-call-status call)
    ('running "")
    ('lost " — no result")
    (_ (let ((summary (smith-label-first-line (smith-part-call-summary call)))
             (ms (smith-part-call-duration call)))
         (concat (and (not (string-empty-p summary)) (concat " — " summary))
                 (and (>= ms smith-render--slow) (format " (%.1f s)" (/ ms 1000.0))))))))

(defun smith-render--call-head (call width)
  "Return the first line of CALL, more where WIDTH has no room for its outcome."
  (let* ((outcome (smith-render--outcome call))
         (what (smith-label-call (smith-part-call-name call) (smith-part-call-title call)
                                 (smith-part-call-arguments call)))
         (room (- width (string-width outcome) 2))
         (fits (>= room (min (string-width what) smith-render--shortest)))
         (shown (smith-label-cut what (if fits room (- width 2))))
         (name (min (length shown) (length (smith-part-call-name call))))
         (sign (alist-get (smith-part-call-status call) smith-render--signs)))
    (concat (propertize (car sign) 'face (cdr sign)) " "
            (propertize (substring shown 0 name) 'face 'smith-tool)
            (substring shown name)
            (if fits
                outcome
              (mapconcat (lambda (line) (concat "\n  " line))
                         (smith-label-wrap outcome (- width 2)) "")))))

(defun smith-render--output (text limit)
  "Return the last LIMIT lines of TEXT as lines of a part."
  (let* ((all (smith-label-lines text))
         (before (- (length all) limit))
         (lines (mapcar (lambda (line)
                          (propertize (smith-label-indented line) 'face 'smith-output))
                        (if (> before 0) (nthcdr before all) all))))
    (if (> before 0)
        (cons (format "%s… %d lines before" smith-label-indent before) lines)
      lines)))

(cl-defmethod smith-render ((part smith-part-call) width)
  "Return the text of PART for lines of WIDTH columns."
  (let ((head (smith-render--call-head part width))
        (diff (or (smith-part-call-diff part) "")))
    (cond
     ((eq (smith-part-call-status part) 'running)
      (string-join (cons head (smith-render--output (smith-part-call-output part)
                                                    smith-render--live))
                   "\n"))
     ((not (string-empty-p diff))
      (concat head (smith-render--folded (smith-diff-lines diff smith-render--limit))))
     (t
      (concat head (smith-render--folded
                    (smith-render--output
                     (if (eq (smith-part-call-status part) 'lost)
                         (smith-part-call-output part)
                       (concat (smith-part-call-below part)
                               (smith-part-call-content part)))
                     smith-render--limit)))))))

;;; Questions

(defconst smith-render--elsewhere
  (concat "\n" smith-label-indent "or C-c C-y, C-c C-n; anywhere: M-x smith-yes\n")
  "Shown, but no text, under a question.")

(defun smith-render--details (question)
  "Return the lines about QUESTION that stand under it."
  (let ((saves (smith-part-question-saves question)))
    (mapcar (lambda (text)
              (propertize (smith-label-indented (smith-label-first-line text))
                          'face 'smith-detail))
            (remove "" (list (smith-part-question-reason question)
                             (if saves
                                 (concat "saves first: " (string-join saves ", "))
                               ""))))))

(cl-defmethod smith-render ((part smith-part-question) width)
  "Return the text of PART for lines of WIDTH columns."
  (let ((what (smith-label-call (smith-part-question-name part)
                                (smith-part-question-title part) ""))
        (role (smith-part-question-role part))
        (decision (smith-part-question-decision part)))
    (if decision
        (propertize (smith-label-cut
                     (format "  %s: %s" (or (cdr (assoc decision smith-render--answered))
                                            decision)
                             what)
                     width)
                    'face 'smith-detail)
      (string-join
       (append (list (propertize (if role
                                     (format "? %s wants to run %s" role what)
                                   (format "? May I run %s?" what))
                                 'face 'smith-question))
               (smith-render--details part)
               (smith-diff-lines (smith-part-question-diff part) smith-render--limit)
               (list (propertize (concat smith-label-indent "y yes · n no · a always")
                                 'face 'smith-hint
                                 'smith-below smith-render--elsewhere)))
       "\n"))))

(provide 'smith-render)
;;; smith-render.el ends here
