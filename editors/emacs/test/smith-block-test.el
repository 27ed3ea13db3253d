;;; smith-block-test.el --- Events as the text of a chat  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; SMITH_TEST_TURNS holds the event logs that all front-ends share, each with
;; the text that it gives.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'smith-test)

(defun smith-block-test--bytes (path)
  "Return the text of the file at PATH."
  (with-temp-buffer
    (insert-file-contents path)
    (buffer-string)))

(defun smith-block-test--events (path)
  "Return the events in the log at PATH."
  (mapcar (lambda (line)
            (json-parse-string line :object-type 'plist :null-object nil
                               :false-object :json-false))
          (split-string (smith-block-test--bytes path) "\n" t)))

(defmacro smith-block-test--chat (&rest body)
  "Evaluate BODY in a buffer with a drawn part, `state' being what is to be drawn."
  (declare (indent 0) (debug t))
  `(let ((state (smith-state-new)))
     (with-temp-buffer
       (smith-block-start)
       ,@body)))

(defun smith-block-test--take (state event)
  "Take EVENT into STATE and draw what it changed."
  (let ((changed (smith-state-reduce state event)))
    (smith-block-update (smith-changed-parts changed) (smith-changed-removed changed))))

(defun smith-block-test--text ()
  "Return what is drawn."
  (buffer-substring-no-properties (point-min) (point-max)))

(defun smith-block-test--say (state &rest pieces)
  "Let the model say PIECES in STATE."
  (dolist (piece pieces)
    (smith-block-test--take state (list :kind "llm_output_delta" :conversation "c"
                                        :message "m" :text piece))))

(ert-deftest smith-block-recorded-turns-give-the-text-beside-them ()
  (let ((logs (directory-files (getenv "SMITH_TEST_TURNS") t "\\.jsonl\\'")))
    (should (>= (length logs) 10))
    (dolist (log logs)
      (ert-info (log)
        (let ((events (smith-block-test--events log))
              (expected (smith-block-test--bytes
                         (concat (file-name-sans-extension log) ".txt"))))
          (smith-block-test--chat
            (dolist (event events)
              (smith-block-test--take state event))
            (should (equal (smith-block-test--text) expected))
            (smith-block-reset (reverse (smith-talk-parts (smith-state-shown state))))
            (should (equal (smith-block-test--text) expected))))))))

(ert-deftest smith-block-any-cut-of-an-answer-gives-the-same-text-and-faces ()
  (let ((answer "\n\n# Title\n\nSome `code`,\n- **one**\n\n```lua\nlocal x\n\n```\n> said  \n\n")
        (whole nil))
    (dotimes (size (length answer))
      (smith-block-test--chat
        (let ((rest answer))
          (while (not (string-empty-p rest))
            (smith-block-test--say state (substring rest 0 (min (1+ size) (length rest))))
            (setq rest (substring rest (min (1+ size) (length rest))))))
        (let ((seen (cl-loop for place from 1 below (point-max)
                             collect (cons (char-after place)
                                           (get-text-property place 'face)))))
          (setq whole (or whole seen))
          (should (equal seen whole)))))
    (should (equal (concat (mapcar #'car whole))
                   "# Title\n\nSome `code`,\n- **one**\n\n```lua\nlocal x\n\n```\n> said  \n"))
    (should (equal (cl-remove-duplicates (delq nil (mapcar #'cdr whole)))
                   '(smith-heading smith-code smith-list smith-strong smith-code-block
                                   smith-quote)))))

(ert-deftest smith-block-a-piece-touches-nothing-but-the-last-line ()
  (smith-block-test--chat
    (smith-block-test--say state "first line\nsecond " "line\n\nthird")
    (let ((before (buffer-substring (point-min) (line-beginning-position 0)))
          (marks (mapcar #'copy-marker (number-sequence (point-min) (- (point-max) 2)))))
      (smith-block-test--say state " line\nand\na fourth")
      (should (equal-including-properties
               before (buffer-substring (point-min) (+ (point-min) (length before)))))
      (should (equal (mapcar #'marker-position marks)
                     (number-sequence (point-min) (+ (point-min) (length marks) -1)))))))

(ert-deftest smith-block-the-cost-of-a-conversation-is-told-where-it-is-known ()
  (let ((talk (smith-talk-new "c1")))
    (dolist (pair '((0.0123 . "$0.0123") (1.5 . "$1.50")))
      (smith-fold-event 'usage_updated talk
                       (list :turn_usage nil :context 10 :cost (car pair)) nil)
      (should (member (cdr pair) (smith-modeline--talk talk))))
    (smith-fold-event 'usage_updated talk '(:turn_usage nil :context 10 :cost nil) nil)
    (should-not (seq-some (lambda (text) (string-prefix-p "$" text))
                          (smith-modeline--talk talk)))))

(ert-deftest smith-block-what-is-drawn-is-no-matter-of-undo ()
  (smith-block-test--chat
    (buffer-enable-undo)
    (smith-block-test--say state "one\n")
    (goto-char (point-max))
    (setq-local inhibit-read-only t)
    (insert "typed")
    (undo-boundary)
    (delete-region (- (point-max) 3) (point-max))
    (put-text-property (- (point-max) 1) (point-max) 'face 'bold)
    (undo-boundary)
    (smith-block-test--say state "two, and more\nthan before")
    (primitive-undo 1 (cdr buffer-undo-list))
    (should (equal (smith-block-test--text) "one\ntwo, and more\nthan before\ntyped"))))

(provide 'smith-block-test)
;;; smith-block-test.el ends here
