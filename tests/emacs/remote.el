;;; remote.el --- Lets a test look into a running Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Connects to the socket that SMITH_TEST_SOCKET names, evaluates each line
;; that comes, in a process filter as anything from outside comes, and answers
;; with a line of JSON.  The value goes as JSON if it can, else as Lisp.

;;; Code:

(require 'json)

(setq make-backup-files nil
      auto-save-default nil
      require-final-newline nil
      mode-require-final-newline nil
      large-file-warning-threshold nil
      enable-recursive-minibuffers t
      ring-bell-function #'ignore)

(defvar remote-unread ""
  "What came and is no whole line yet.")

(defun remote-evaluate (form)
  "Return the answer to FORM, which is text, as a string."
  (json-encode
   (condition-case problem
       ;; As the person sees it: in the buffer of the selected window.
       (let ((value (with-current-buffer (window-buffer) (eval (read form) t))))
         `((value . ,(condition-case nil
                         (progn (json-encode value) value)
                       (error (prin1-to-string value))))))
     (error `((problem . ,(error-message-string problem)))))))

(defun remote-filter (process string)
  "Answer the lines in STRING over PROCESS."
  (setq remote-unread (concat remote-unread string))
  (while (string-match "\n" remote-unread)
    (let ((form (substring remote-unread 0 (match-beginning 0))))
      (setq remote-unread (substring remote-unread (match-end 0)))
      (process-send-string process (concat (remote-evaluate form) "\n")))))

(make-network-process :name "remote" :family 'local
                      :service (getenv "SMITH_TEST_SOCKET")
                      :coding 'utf-8-unix :noquery t :filter #'remote-filter)

;;; remote.el ends here
