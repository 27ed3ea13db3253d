;;; smith-health.el --- Looks for trouble  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `smith-health': is the server found, which version is it, what is connected.
;; The version comes when the program has told it; nothing waits.
;;
;; Requires `smith-options', `smith-protocol', `smith-rpc', `smith-session' and
;; `smith-sync' of this package, and must not require more.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'smith-options)
(require 'smith-protocol)
(require 'smith-rpc)
(require 'smith-session)
(require 'smith-sync)

(defconst smith-health--buffer "*smith health*"
  "Name of the buffer with the report.")

(defun smith-health--line (ok form &rest arguments)
  "Return FORM with ARGUMENTS as a line of the report, good if OK."
  (concat (if ok
              (propertize "OK    " 'face 'success)
            (propertize "ERROR " 'face 'error))
          (apply #'format form arguments) "\n"))

(defun smith-health--emacs ()
  "Return what is to be said of this Emacs."
  (concat "Emacs\n"
          (smith-health--line (>= emacs-major-version 28) "Emacs %s, 28.1 or newer is needed"
                              emacs-version)
          (smith-health--line (and (fboundp 'json-available-p) (json-available-p))
                              "JSON is built in")
          "\n"))

(defun smith-health--program ()
  "Return what is to be said of the program of the server."
  (let ((found (executable-find (car smith-command))))
    (concat "Server\n"
            (smith-health--line found "command: %s" (string-join smith-command " "))
            (if found
                (format "      found at %s\n" found)
              "      Install smith-server, or set `smith-command' to its place.\n"))))

(defun smith-health--connection (session)
  "Return what is to be said of the connection of SESSION."
  (let* ((connection (smith-session-connection session))
         (server (and connection
                      (plist-get (plist-get (smith-rpc-capabilities connection) :experimental)
                                 :smith))))
    (concat
     "\n" (smith-session-root session) "\n"
     (cond
      ((not connection) "      no server runs; it starts with the next prompt\n")
      ((not server) "      the server is starting\n")
      (t
       (concat
        (smith-health--line t "protocol %s, ours is %s; server %s"
                            (plist-get server :protocol) smith-protocol-version
                            (plist-get server :version))
        (mapconcat (lambda (buffer)
                     (if (> (smith-sync-version buffer) 0)
                         (format "      attached: %s\n" (buffer-file-name buffer))
                       ""))
                   (buffer-list) "")))))))

(defun smith-health--version-command ()
  "Return the command whose output is the version of the server."
  (append (seq-take-while (lambda (word) (not (equal word "serve"))) smith-command)
          '("--version")))

(defun smith-health--ask-version (buffer)
  "Put the version of the program into BUFFER when it comes."
  (when (executable-find (car smith-command))
    (let ((output (generate-new-buffer " *smith version*")))
      (make-process
       :name "smith-version" :buffer output :noquery t
       :command (smith-health--version-command)
       :sentinel
       (lambda (process _event)
         (unless (process-live-p process)
           (let ((said (with-current-buffer output
                         (goto-char (point-min))
                         (buffer-substring (point) (line-end-position)))))
             (kill-buffer output)
             (when (buffer-live-p buffer)
               (smith-health--add buffer (zerop (process-exit-status process)) said)))))))))

(defun smith-health--add (buffer ok said)
  "Add to BUFFER that the program SAID what its version is, if OK."
  (with-current-buffer buffer
    (let ((inhibit-read-only t))
      (save-excursion
        (goto-char (point-max))
        (insert "\n" (smith-health--line ok "version: %s" said))))))

;;;###autoload
(defun smith-health ()
  "Show whether what the agent needs is there."
  (interactive)
  (let ((buffer (get-buffer-create smith-health--buffer))
        (inhibit-read-only t))
    (with-current-buffer buffer
      (special-mode)
      (setq-local word-wrap t
                  truncate-lines nil
                  truncate-partial-width-windows nil)
      (erase-buffer)
      (insert (smith-health--emacs) (smith-health--program)
              (mapconcat #'smith-health--connection (smith-session-all) ""))
      (goto-char (point-min)))
    (smith-health--ask-version buffer)
    (pop-to-buffer buffer)))

(provide 'smith-health)
;;; smith-health.el ends here
