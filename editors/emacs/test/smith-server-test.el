;;; smith-server-test.el --- Emacs and a real server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The main job: edits in unsaved buffers, refused ones, odd files, cancel.

;;; Code:

(require 'smith-test)

(defun smith-test-undo ()
  "Undo one step in this buffer, as a key would."
  (setq last-command nil)
  (undo-boundary)
  (undo))

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
        (list (smith-test-call "read" :path "a.py")
              (vector (list :wait 0.5)
                      (list :call "replace"
                            :arguments '(:path "a.py" :old "two" :new "agent"
                                         :hash "{hash:a.py}")))
              (smith-test-say "Refused, I see."))
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
        (list (smith-test-call "read" :path "a.py")
              (vector (list :wait 0.5)
                      (list :call "replace"
                            :arguments '(:path "a.py" :old "two" :new "agent")))
              (smith-test-say "Done."))
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

;;; Odd files: bytes outside the edit are the same

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

;;; What Emacs cannot read

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
        (list (smith-test-call "read" :path "a.py")
              (vector (list :wait 0.5)
                      (list :call "replace"
                            :arguments '(:path "a.py" :old "two" :new "agent"
                                         :hash "{hash:a.py}")))
              (smith-test-say "Refused."))
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

;;; An edit that waits

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

;;; Cancel

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
