;;; smith-test.el --- What the tests share  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A real server with a written model, files of a project, and waiting by
;; looking.  The environment tells where things are: SMITH_TEST_PYTHON runs the
;; server, SMITH_SCRIPT is what its model says, SMITH_TEST_VECTORS holds the
;; data that all editors share; the current folder is the project.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'json)
(require 'smith)

(defconst smith-test-seconds 20
  "How long anything may take.")

(setq make-backup-files nil
      auto-save-default nil
      require-final-newline nil
      large-file-warning-threshold nil
      mode-require-final-newline nil
      message-log-max t)

;;; What is said

(defvar smith-test-said nil
  "The last message.")

(advice-add 'message :before
            (lambda (form &rest arguments)
              (setq smith-test-said
                    (and form (apply #'format-message form arguments)))))

;;; Files

(defun smith-test-file (name bytes)
  "Write BYTES, a string, to the file NAME of the project; return its path.
It comes by another name: Emacs would ask about a file that a buffer visits."
  (let* ((coding-system-for-write 'no-conversion)
         (path (expand-file-name name))
         (other (concat path ".new")))
    (make-directory (file-name-directory path) t)
    (write-region (if (multibyte-string-p bytes)
                      (encode-coding-string bytes 'utf-8-unix)
                    bytes)
                  nil other nil 'silent)
    (rename-file other path t)
    path))

(defun smith-test-bytes (path)
  "Return the bytes of the file at PATH."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally path)
    (buffer-string)))

(defun smith-test-vectors (name)
  "Return the lines of the shared data file NAME, as plists."
  (with-temp-buffer
    (insert-file-contents (expand-file-name name (getenv "SMITH_TEST_VECTORS")))
    (let ((json-object-type 'plist)
          (json-array-type 'list)
          (json-false :json-false))
      (cl-loop until (eobp)
               collect (json-read)
               do (skip-chars-forward "\n")))))

(defmacro smith-test-visiting (path &rest body)
  "Visit the file at PATH, evaluate BODY in its buffer, and kill it unsaved."
  (declare (indent 1) (debug t))
  `(let ((buffer (find-file-noselect ,path)))
     (unwind-protect
         (with-current-buffer buffer
           ,@body)
       (smith-test-kill buffer))))

(defun smith-test-kill (buffer)
  "Kill BUFFER, whatever is in it."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (set-buffer-modified-p nil))
    (kill-buffer buffer)))

;;; Waiting

(defun smith-test-until (holds &optional seconds)
  "Wait until the function HOLDS returns non-nil, for SECONDS, and return that."
  (let ((deadline (+ (float-time) (or seconds smith-test-seconds)))
        value)
    (while (not (setq value (funcall holds)))
      (when (> (float-time) deadline)
        (error "Waited in vain for %S" holds))
      (accept-process-output nil 0.01))
    value))

;;; The server

(defmacro smith-test-with-server (replies &rest body)
  "Start a server whose model gives REPLIES and evaluate BODY with `session'.
Its events are in `smith-test-events'.  At the end it is gone."
  (declare (indent 1) (debug t))
  `(smith-test--with-server ,replies (lambda (session) ,@body)))

(defvar smith-test-events nil
  "Events of the server, newest first.")

(defun smith-test-start (replies)
  "Start a server whose model gives REPLIES and return its session."
  (smith-test-file (getenv "SMITH_SCRIPT")
                   (json-encode `((strict . t) (replies . ,(vconcat replies)))))
  (setq smith-test-events nil)
  (let* ((smith-command (list (getenv "SMITH_TEST_PYTHON") "-m" "smith_server" "serve"))
         (session (smith-start)))
    (smith-session-listen session (lambda (_session event _changed)
                                    (when event
                                      (push event smith-test-events))))
    session))

(defun smith-test--with-server (replies body)
  "Call BODY with the session of a server whose model gives REPLIES."
  (let* ((session (smith-test-start replies))
         (process (smith-rpc-process (smith-session-connection session))))
    (unwind-protect
        (progn
          (smith-test-until (lambda ()
                              (smith-rpc-ready-p (smith-session-connection session))))
          (funcall body session))
      (smith-stop)
      (smith-test-until (lambda () (not (smith-session-connection session))))
      (mapc #'smith-test-kill (cl-remove-if-not #'buffer-file-name (buffer-list))))
    (should (eq (process-status process) 'exit))
    (should (zerop (process-exit-status process)))))

(defun smith-test-start-command (session command &rest argument)
  "Run COMMAND of SESSION with ARGUMENT; return a list that the answer is put in.
The list is (nil) until then, and (t RESULT PROBLEM) afterwards."
  (let ((answer (list nil)))
    (smith-session-command session command argument
                           (lambda (result problem)
                             (setcar answer t)
                             (setcdr answer (list result problem))))
    answer))

(defun smith-test-answer (answer)
  "Wait for ANSWER of `smith-test-start-command' and return its result."
  (smith-test-until (lambda () (car answer)))
  (should-not (nth 2 answer))
  (nth 1 answer))

(defun smith-test-command (session command &rest argument)
  "Run COMMAND of SESSION with ARGUMENT, a plist, and return its result."
  (smith-test-answer (apply #'smith-test-start-command session command argument)))

(defun smith-test-turn (session)
  "Run a turn of SESSION to its end and return its answer."
  (let ((answer (smith-test-command session smith-protocol-command-turn
                                    :text "Do it.")))
    (should (equal (plist-get answer :stop_reason) "completed"))
    answer))

(defun smith-test-event (kind &rest fields)
  "Wait for an event of KIND with FIELDS, a plist, and return it."
  (smith-test-until
   (lambda ()
     (seq-find (lambda (event)
                 (and (equal (plist-get event :kind) kind)
                      (cl-loop for (key value) on fields by #'cddr
                               always (equal (plist-get event key) value))))
               smith-test-events))))

(defun smith-test-told (session)
  "Return what the tools told the model of SESSION, as strings, oldest first."
  (let ((answer (smith-test-command session smith-protocol-command-inspect
                                    :op "list")))
    (cl-loop for message across (plist-get answer :messages)
             for content = (plist-get message :content)
             when (equal (plist-get message :role) "tool")
             collect (plist-get content :content))))

;;; Replies of the model

(defun smith-test-call (tool &rest arguments)
  "Return a reply that calls TOOL with ARGUMENTS, a plist."
  (vector (list :call tool :arguments arguments)))

(defun smith-test-say (text)
  "Return a reply that says TEXT."
  (vector (list :text text)))

(defun smith-test-replace (old new)
  "Return replies that read the file odd.txt and put NEW in place of OLD there."
  (list (smith-test-call "read" :path "odd.txt")
        (smith-test-call "replace" :path "odd.txt" :old old :new new)
        (smith-test-say "Done.")))

(provide 'smith-test)
;;; smith-test.el ends here
