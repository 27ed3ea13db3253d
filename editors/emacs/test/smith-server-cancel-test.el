;;; smith-server-cancel-test.el --- Waiting, stopping and a real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Edits that wait for the person, and what a cancel ends.

;;; Code:

(require 'smith-test)

(defun smith-test-while-it-waits (during after)
  "Call DURING in a buffer where an edit of the second line waits.
Call AFTER with what the model was told of the edit in the end."
  (smith-test-with-server (smith-test-replace "two" "agent")
    (smith-test-visiting (smith-test-file "odd.txt" "one\ntwo\n")
      (let ((transient-mark-mode t)
            (turn (smith-test-start-command session smith-protocol-command-turn
                                            :text "Go.")))
        (push-mark (point-max) t t)
        (smith-test-event "edit_waiting" :path buffer-file-name)
        (should (equal (buffer-string) "one\ntwo\n"))
        (funcall during)
        (deactivate-mark)
        (smith-test-answer turn)
        (funcall after (nth 1 (smith-test-told session)))))))

(ert-deftest smith-server-edit-that-waited-is-applied ()
  (smith-test-while-it-waits
   #'ignore
   (lambda (told)
     (should (equal (buffer-string) "one\nagent\n"))
     (should (string-match-p (smith-text-hash) told)))))

(ert-deftest smith-server-edit-that-waited-while-its-text-changed-is-stale ()
  (smith-test-while-it-waits
   (lambda ()
     (goto-char (point-max))
     (insert "mine\n"))
   (lambda (told)
     (should (equal (buffer-string) "one\ntwo\nmine\n"))
     (should (string-match-p "mine" told)))))


(defun smith-test-cancelled (session turn)
  "Cancel TURN of SESSION; it must be over within a second."
  (let ((began (float-time))
        (stopped (smith-test-command session smith-protocol-command-cancel)))
    (should (eq (plist-get stopped :cancelled) t))
    (should (equal (plist-get (smith-test-answer turn) :stop_reason) "cancelled"))
    (should (< (- (float-time) began) 1))
    (should (equal (plist-get (car smith-test-events) :kind) "turn_cancelled"))
    (should (equal (plist-get (smith-test-turn session) :text)
                   "The next turn works."))))

(ert-deftest smith-server-cancel-while-the-answer-streams ()
  (smith-test-with-server
      (list (vector (list :text "so far so good " :size 5 :delay 0.05) (list :wait 60))
            (smith-test-say "The next turn works."))
    (let ((turn (smith-test-start-command session smith-protocol-command-turn
                                          :text "Go.")))
      (smith-test-event "llm_output_delta")
      (smith-test-cancelled session turn))))

(ert-deftest smith-server-cancel-by-its-command-tells-what-it-did ()
  (smith-cancel)
  (should (equal smith-test-said "smith: nothing is running"))
  (smith-test-with-server (list (vector '(:text "so far " :size 2 :delay 0.05) '(:wait 60)))
    (let ((turn (smith-test-start-command session smith-protocol-command-turn
                                          :text "Go.")))
      (smith-test-event "llm_output_delta")
      (smith-cancel)
      (smith-test-until (lambda () (equal smith-test-said "smith: cancelled")))
      (should (equal (plist-get (smith-test-answer turn) :stop_reason) "cancelled")))))

(defun smith-test-living (mark)
  "Return the command lines of processes that run and hold MARK."
  (cl-loop for pid in (list-system-processes)
           for facts = (process-attributes pid)
           for line = (alist-get 'args facts)
           when (and line (string-match-p mark line)
                     (not (member (alist-get 'state facts) '("Z" "X"))))
           collect line))

(ert-deftest smith-server-cancel-while-a-command-runs ()
  (let* ((mark (format "60.%09d" (random 1000000000)))
         (sleep (format "sleep %s" (regexp-quote mark))))
    (smith-test-with-server
        (list (smith-test-call "bash" :command (format "sleep %s & sleep %s" mark mark))
              (smith-test-say "The next turn works."))
      (let ((turn (smith-test-start-command session smith-protocol-command-turn
                                            :text "Go.")))
        (smith-test-until (lambda () (>= (length (smith-test-living sleep)) 2)))
        (smith-test-cancelled session turn)
        (smith-test-until (lambda () (not (smith-test-living mark))) 0.5)))))

(ert-deftest smith-server-cancel-takes-back-an-edit-that-waits ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-with-server (append (smith-test-replace "two" "agent")
                                    (list (smith-test-say "The next turn works.")))
      (smith-test-visiting path
        (let ((transient-mark-mode t)
              (turn (smith-test-start-command session smith-protocol-command-turn
                                              :text "Go.")))
          (push-mark (point-max) t t)
          (smith-test-event "edit_waiting" :path path)
          (smith-test-answer
           (smith-test-start-command session smith-protocol-command-cancel))
          (should (equal (plist-get (smith-test-answer turn) :stop_reason)
                         "cancelled"))
          (deactivate-mark)
          (accept-process-output nil 0.3)
          (should (equal (buffer-string) "one\ntwo\n")))))))

;;; smith-server-cancel-test.el ends here
