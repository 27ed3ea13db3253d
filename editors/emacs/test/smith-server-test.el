;;; smith-server-test.el --- Emacs and a real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The main job: edits in unsaved buffers, refused ones, much at once, the end.

;;; Code:

(require 'smith-test)

(defun smith-test-undo ()
  "Undo one step in this buffer, as a key would."
  (setq last-command nil)
  (undo-boundary)
  (undo))

(defun smith-test-late-replace (&rest more)
  "Return replies that read a.py and replace \"two\" in it a while later.
MORE are arguments of that call."
  (list (smith-test-call "read" :path "a.py")
        (vector (list :wait 0.5)
                (list :call "replace"
                      :arguments (append '(:path "a.py" :old "two" :new "agent") more)))
        (smith-test-say "Done.")))

(ert-deftest smith-server-edit-lands-in-an-unsaved-buffer-as-one-undo-step ()
  (let ((path (smith-test-file "a.py" "one\ntwo\nthree\nfour\n")))
    (smith-test-with-server
        (list (smith-test-call "read" :path "a.py")
              (smith-test-call "edit" :path "a.py" :hash "{hash:a.py}"
                               :operation "replace" :start_line 3 :end_line 3
                               :content "agent\nlines")
              (smith-test-say "Done."))
      (smith-test-visiting path
        (buffer-enable-undo)
        (goto-char (point-min))
        (insert "mine, not saved ")
        (undo-boundary)
        (search-forward "four")
        (let ((typed (buffer-string)))
          (smith-test-turn session)
          (should (equal (buffer-string)
                         "mine, not saved one\ntwo\nagent\nlines\nfour\n"))
          (should (looking-back "four" 1))
          (should (equal (smith-test-bytes path) "one\ntwo\nthree\nfour\n"))
          (pcase-let ((`(,read ,edit) (smith-test-told session)))
            (should (string-match-p "mine, not saved one" read))
            (should (string-match-p (smith-text-hash) edit)))
          (smith-test-undo)
          (should (equal (buffer-string) typed))
          (should (buffer-modified-p)))))))

(ert-deftest smith-server-typing-into-the-same-line-makes-the-edit-stale ()
  (let ((path (smith-test-file "a.py" "one\ntwo\nthree\n")))
    (smith-test-with-server
        (smith-test-late-replace :hash "{hash:a.py}")
      (smith-test-visiting path
        (let ((turn (smith-test-start-command session smith-protocol-command-turn
                                              :text "Do it.")))
          (smith-test-event "tool_call_finished" :name "read")
          (goto-char (point-min))
          (search-forward "two")
          (insert ", mine")
          (smith-test-answer turn)
          (should (equal (buffer-string) "one\ntwo, mine\nthree\n"))
          (let ((refusal (nth 1 (smith-test-told session))))
            (should (string-match-p "hash_mismatch" refusal))
            (should (string-match-p "two, mine" refusal))))))))

(ert-deftest smith-server-edit-of-a-killed-buffer-goes-to-the-disk ()
  (let ((path (smith-test-file "a.py" "one\ntwo\n")))
    (smith-test-with-server
        (smith-test-late-replace)
      (let ((buffer (find-file-noselect path))
            (turn (smith-test-start-command session smith-protocol-command-turn
                                            :text "Do it.")))
        (smith-test-event "tool_call_finished" :name "read")
        (smith-test-kill buffer)
        (smith-test-answer turn)
        (should (equal (smith-test-bytes path) "one\nagent\n"))
        (should-not (find-buffer-visiting path))))))

(ert-deftest smith-server-edit-of-a-read-only-buffer-is-refused ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting path
        (setq buffer-read-only t)
        (smith-test-turn session)
        (should (equal (buffer-string) "one\ntwo\n"))
        (should (string-match-p "read_only\\|read-only"
                                (nth 1 (smith-test-told session))))
        (should (equal (smith-test-bytes path) "one\ntwo\n"))))))

(ert-deftest smith-server-file-that-changed-on-disk-is-not-edited-over ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting path
        (smith-test-file "odd.txt" "one\ntwo, and more from elsewhere\n")
        (smith-test-turn session)
        (should (equal (buffer-string) "one\ntwo\n"))
        (should (string-match-p "changed since it was read"
                                (nth 1 (smith-test-told session))))
        (should (equal (smith-test-bytes path)
                       "one\ntwo, and more from elsewhere\n"))))))

;;; Much at once

(defun smith-test-no-gap-p ()
  "Return non-nil when the numbers of the events seen grow by one."
  (let ((numbers (mapcar (lambda (event) (plist-get event :seq))
                         (reverse smith-test-events))))
    (equal numbers
           (number-sequence (car numbers) (car (last numbers))))))

(ert-deftest smith-server-streams-while-a-large-document-is-sent ()
  (let ((path (smith-test-file "large.txt" (make-string 5000000 ?x)))
        (words (mapconcat (lambda (number) (format "word%d " number))
                          (number-sequence 1 400) "")))
    (smith-test-with-server
        (list (vector (list :text words :size 3 :delay 0.0005)))
      (smith-test-visiting path
        (let ((turn (smith-test-start-command session smith-protocol-command-turn
                                              :text "Go.")))
          (smith-test-event "llm_output_delta")
          (while (not (car turn))
            (let ((inhibit-modification-hooks t))
              (insert "y"))
            (smith-sync-flush (current-buffer))
            (accept-process-output nil 0.01))
          (should (equal (plist-get (smith-test-answer turn) :text) words))
          (should (equal (mapconcat (lambda (event) (plist-get event :text))
                                    (seq-filter
                                     (lambda (event)
                                       (equal (plist-get event :kind) "llm_output_delta"))
                                     (reverse smith-test-events))
                                    "")
                         words))
          (should (smith-test-no-gap-p)))))))

(ert-deftest smith-server-says-a-nul ()
  (smith-test-with-server
      (list (smith-test-call "bash" :command "printf 'a\\0b\\n'")
            (smith-test-say "one\0two"))
    (should (equal (plist-get (smith-test-turn session) :text) "one\u2400two"))
    (should (smith-test-no-gap-p))))

;;; Odd buffers

(ert-deftest smith-server-narrowed-buffer-stays-narrowed ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\nthree\nfour\n")))
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting path
        (goto-char (point-min))
        (search-forward "three")
        (narrow-to-region (line-beginning-position) (line-end-position))
        (smith-test-turn session)
        (should (equal (buffer-string) "three"))
        (widen)
        (should (equal (buffer-string) "one\nagent\nthree\nfour\n"))))))

(ert-deftest smith-server-text-that-came-through-an-indirect-buffer-is-seen ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-with-server (smith-test-replace "two" "agent")
      (smith-test-visiting path
        (let ((indirect (make-indirect-buffer (current-buffer) "indirect")))
          (with-current-buffer indirect
            (goto-char (point-min))
            (insert "without a hook\n"))
          (smith-test-turn session)
          (should (equal (buffer-string) "without a hook\none\nagent\n"))
          (should (string-match-p "without a hook" (nth 0 (smith-test-told session))))
          (kill-buffer indirect))))))

(ert-deftest smith-server-edit-through-an-indirect-buffer-makes-a-change-stale ()
  (let ((path (smith-test-file "a.py" "one\ntwo\n")))
    (smith-test-with-server
        (smith-test-late-replace :hash "{hash:a.py}")
      (smith-test-visiting path
        (let ((indirect (make-indirect-buffer (current-buffer) "indirect"))
              (turn (smith-test-start-command session smith-protocol-command-turn
                                              :text "Do it.")))
          (smith-test-event "tool_call_finished" :name "read")
          (with-current-buffer indirect
            (goto-char (point-max))
            (insert "without a hook\n"))
          (smith-test-answer turn)
          (should (equal (buffer-string) "one\ntwo\nwithout a hook\n"))
          (should (string-match-p "without a hook" (nth 1 (smith-test-told session))))
          (kill-buffer indirect))))))

(ert-deftest smith-server-command-sees-the-edit-because-its-buffer-is-saved ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-with-server
        (list (smith-test-call "read" :path "odd.txt")
              (smith-test-call "replace" :path "odd.txt" :old "two" :new "agent")
              (smith-test-call "bash" :command "cat odd.txt")
              (smith-test-say "Looked."))
      (smith-test-visiting path
        (smith-test-turn session)
        (should (string-match-p "one\nagent" (nth 2 (smith-test-told session))))
        (should-not (buffer-modified-p))
        (should (equal (smith-test-bytes path) "one\nagent\n"))))))

(ert-deftest smith-server-has-the-hash-of-every-shared-vector ()
  (let* ((vectors (seq-remove (lambda (vector)
                                (member (plist-get vector :id) '("hash-25" "hash-23")))
                              (smith-test-vectors "hash.jsonl")))
         (names (mapcar (lambda (vector) (concat (plist-get vector :id) ".txt")) vectors)))
    (cl-loop for vector in vectors
             for name in names
             do (smith-test-file name (encode-coding-string
                                       (plist-get vector :bytes_latin1) 'latin-1)))
    (smith-test-with-server
        (append (mapcar (lambda (name) (smith-test-call "read" :path name)) names)
                (list (smith-test-say "Done.")))
      (mapc #'find-file-noselect names)
      (smith-test-turn session)
      (should (equal (cl-loop for told in (smith-test-told session)
                              for vector in vectors
                              unless (string-match-p (plist-get vector :hash) told)
                              collect (list (plist-get vector :id) told))
                     nil)))))

;;; Ends

(ert-deftest smith-server-that-is-killed-is-told-and-can-be-started-again ()
  (let ((path (smith-test-file "odd.txt" "one\ntwo\n")))
    (smith-test-visiting path
      (let* ((session (smith-test-start (list (vector '(:wait 60)))))
             (process (smith-rpc-process (smith-session-connection session)))
             (turn (smith-test-start-command session smith-protocol-command-turn
                                             :text "Go.")))
        (smith-test-event "turn_started")
        (should (memq #'smith-sync--changed after-change-functions))
        (signal-process process 'SIGKILL)
        (smith-test-until (lambda () (not (smith-session-connection session))))
        (should (equal (plist-get (nth 2 turn) :message)
                       "the server was ended by signal 9"))
        (should-not (memq #'smith-sync--changed after-change-functions))
        (insert "still typing\n"))
      (smith-test-with-server (smith-test-replace "two" "agent")
        (smith-test-turn session)
        (should (equal (smith-text-read) "still typing\none\nagent\n"))))))

(ert-deftest smith-server-that-is-no-server-is-told ()
  (let* ((smith-command '("sh" "-c" "exit 3"))
         (session (smith-start))
         (answer (smith-test-start-command session smith-protocol-command-turn
                                           :text "Go.")))
    (smith-test-until (lambda () (car answer)))
    (should (equal (plist-get (nth 2 answer) :message)
                   "the server ended with exit code 3")))
  (let ((smith-command '("no-such-program-of-smith")))
    (should-error (smith-start) :type 'file-missing)
    (should-not (smith-session-connection (smith-session-here)))))

(provide 'smith-server-test)
;;; smith-server-test.el ends here
