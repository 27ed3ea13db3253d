;;; smith-server-odd-test.el --- Odd files and a real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Bytes outside an edit are the same afterwards, whatever the file holds.

;;; Code:

(require 'smith-test)

(defun smith-test-odd (before after &optional old new)
  "Edit a file of bytes BEFORE in its buffer; it must be AFTER when it is saved.
The edit puts NEW in place of OLD, which are agent and two if they are nil."
  (let ((path (smith-test-file "odd.txt" before)))
    (smith-test-with-server (smith-test-replace (or old "two") (or new "agent"))
      (smith-test-visiting path
        (smith-test-turn session)
        (should (equal (smith-test-bytes path) before))
        (should (buffer-modified-p))
        (should (string-match-p (smith-text-hash) (nth 1 (smith-test-told session))))
        (save-buffer)
        (should (equal (smith-test-bytes path) after))))))

(ert-deftest smith-server-crlf ()
  (smith-test-odd "one\r\ntwo\r\nthree\r\n" "one\r\nagent\r\nthree\r\n"))

(ert-deftest smith-server-crlf-with-new-lines ()
  (smith-test-odd "one\r\ntwo\r\nthree\r\n" "one\r\nan\r\nagent\r\nthree\r\n"
                  nil "an\nagent"))

(ert-deftest smith-server-byte-order-mark ()
  (smith-test-odd "\xef\xbb\xbfone\ntwo\nthree\n" "\xef\xbb\xbfone\nagent\nthree\n"))

(ert-deftest smith-server-byte-order-mark-and-crlf ()
  (smith-test-odd "\xef\xbb\xbfone\r\ntwo\r\n" "\xef\xbb\xbfone\r\nagent\r\n"))

(ert-deftest smith-server-latin-1 ()
  (smith-test-odd "caf\xe9\ntwo\n" "caf\xe9\nna\xefve\n" nil "naïve"))

(ert-deftest smith-server-utf-16 ()
  (smith-test-odd (encode-coding-string "é\ntwo\n" 'utf-16le-with-signature)
                  (encode-coding-string "é\nagent 😀\n" 'utf-16le-with-signature)
                  nil "agent 😀"))

(ert-deftest smith-server-no-final-newline ()
  (smith-test-odd "one\ntwo\nthree" "one\nagent\nthree"))

(ert-deftest smith-server-emoji-before-the-edit ()
  (smith-test-odd (encode-coding-string "😀é\n😀 two\n" 'utf-8)
                  (encode-coding-string "😀é\n😀 agent\n" 'utf-8)))

(ert-deftest smith-server-form-feed-and-line-separator ()
  (smith-test-odd (encode-coding-string "o\fne\u2028x\u0085y\ntwo\n" 'utf-8)
                  (encode-coding-string "o\fne\u2028x\u0085y\nagent\n" 'utf-8)))

(ert-deftest smith-server-lone-cr-above-the-edit ()
  (smith-test-odd "o\rne\ntwo\nthree\n" "o\rne\nagent\nthree\n"))

(ert-deftest smith-server-mixed-line-ends ()
  (smith-test-odd "one\r\ntwo\nthree\r\n" "one\r\nagent\nthree\r\n"))

(ert-deftest smith-server-large-file ()
  (let ((rest (apply #'concat (make-list 65000 (concat (make-string 79 ?y) "\n")))))
    (smith-test-odd (concat "one\ntwo\n" rest) (concat "one\nagent\n" rest))))

(ert-deftest smith-server-only-cr-is-read-and-not-edited ()
  (let ((path (smith-test-file "odd.txt" "one\rtwo\r")))
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting path
        (goto-char (point-max))
        (insert "mine\n")
        (smith-test-turn session)
        (should (equal (buffer-string) "one\ntwo\nmine\n"))
        (should (string-match-p "mine" (nth 0 (smith-test-told session))))
        (should (equal (smith-test-bytes path) "one\rtwo\r"))))))

(ert-deftest smith-server-file-opened-through-a-link ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n"))
        (link (expand-file-name "link.txt")))
    (make-symbolic-link path link t)
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting link
        (goto-char (point-max))
        (insert "three\n")
        (save-buffer)
        (smith-test-turn session)
        (should (equal (buffer-string) "one\nagent\nthree\n"))
        (should (equal (smith-test-bytes path) "one\ntwo\nthree\n"))
        (should (file-symlink-p link))))))

;;; smith-server-odd-test.el ends here
