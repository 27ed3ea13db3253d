;;; smith-changes-test.el --- What became of the agent's changes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Each state is told once, whatever way the text took.

;;; Code:

(require 'ert)
(require 'smith-test)

(defmacro smith-changes-test--with (text hunks &rest body)
  "Evaluate BODY where HUNKS have just been made in a buffer with TEXT.
Each is (BEG OLD NEW); `told' holds what the server was told since it was read."
  (declare (indent 2) (debug t))
  `(let* ((said nil)
          (changes (smith-changes-new (lambda (_method params)
                                        (push (list (plist-get params :hunk)
                                                    (plist-get params :state))
                                              said)))))
     (cl-flet ((told ()
                 (smith-changes-look-all changes)
                 (prog1 (nreverse said) (setq said nil))))
       (with-temp-buffer
         (insert ,text)
         (buffer-enable-undo)
         (pcase-dolist (`(,beg ,old ,new) ,hunks)
           (goto-char beg)
           (delete-char (length old))
           (insert new))
         (smith-changes-track changes "c" ,hunks)
         (undo-boundary)
         ,@body))))

(defun smith-changes-test--undo ()
  "Undo one step, as a key of its own would."
  (setq last-command nil)
  (undo-boundary)
  (undo))

(ert-deftest smith-changes-undo-and-redo-are-told-once ()
  (smith-changes-test--with "one\ntwo\nthree\n" '((5 "two" "agent"))
    (should-not (told))
    (smith-changes-test--undo)
    (should (equal (buffer-string) "one\ntwo\nthree\n"))
    (should (equal (told) '((0 "undone"))))
    (should-not (told))
    (smith-changes-test--undo)
    (should (equal (told) '((0 "redone"))))))

(ert-deftest smith-changes-typing-beside-a-hunk-leaves-it-and-in-it-touches-it ()
  (smith-changes-test--with "one\ntwo\nthree\n" '((1 "one" "1") (3 "two" "2"))
    (goto-char (point-max))
    (insert "more")
    (goto-char (point-min))
    (insert "above\n")
    (should (equal (told) '((0 "touched"))))
    (search-forward "2")
    (backward-char)
    (delete-char 1)
    (should (equal (told) '((1 "touched"))))))

(ert-deftest smith-changes-deletion-stands-as-long-as-a-neighbour-does ()
  (smith-changes-test--with "one\ntwo\nthree\n" '((5 "two\n" ""))
    (should-not (told))
    (goto-char (point-max))
    (insert "more")
    (should-not (told))
    (erase-buffer)
    (should (equal (told) '((0 "touched"))))))

(ert-deftest smith-changes-a-killed-buffer-is-no-trouble ()
  (smith-changes-test--with "one\n" '((1 "one" "1"))
    (rename-buffer "gone")
    (let ((buffer (current-buffer)))
      (with-temp-buffer
        (kill-buffer buffer)
        (should-not (told))
        (smith-changes-close changes)))))

(provide 'smith-changes-test)
;;; smith-changes-test.el ends here
