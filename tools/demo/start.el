;;; start.el --- The Emacs of the demo  -*- lexical-binding: t; -*-

;; Loaded on the file that the demo is about.  With SMITH_DEMO_READY it plays
;; the first scene by itself and makes that file when all is on the screen.

(defconst demo-folder (file-name-directory load-file-name))

(add-to-list 'load-path (expand-file-name "../../editors/emacs" demo-folder))
(require 'smith)
(setq smith-command (list (getenv "SMITH_DEMO_PYTHON") "-m" "smith_server" "serve")
      inhibit-startup-screen t)

(defun demo-when (holds action)
  "Call ACTION as soon as HOLDS returns non-nil."
  (if (funcall holds)
      (funcall action)
    (run-with-timer 0.1 nil #'demo-when holds action)))

(defun demo-says (words)
  "Return a function that tells whether the chat says WORDS."
  (lambda ()
    (let ((chat (smith-chat-get (smith-session-here))))
      (and chat
           (with-current-buffer chat
             (save-excursion
               (goto-char (point-min))
               (search-forward words nil t)))))))

(defun demo-play ()
  "Type a line, ask for an edit, allow it."
  (goto-char (point-min))
  (re-search-forward "^Items.*\n")
  (insert "CURRENCY = \"EUR\"\n")
  (smith)
  (other-window -1)
  (smith-send "name the currency in the receipt")
  (demo-when (demo-says "May I run")
             (lambda ()
               (smith-yes)
               (demo-when (demo-says "that is yours to do") #'demo-ready))))

(defun demo-ready ()
  "Tell that all is on the screen, the diff of the edit unfolded."
  (with-current-buffer (smith-chat-get (smith-session-here))
    (save-excursion
      (goto-char (point-min))
      (search-forward "✓ replace")
      (smith-block-toggle (point))))
  (message nil)
  (redisplay t)
  (write-region "" nil (getenv "SMITH_DEMO_READY") nil 'silent))

(defun demo-show-place ()
  "Go to the line that will be edited, for it to stay in sight beside the chat."
  (goto-char (point-max))
  (forward-line -1)
  (recenter))

(add-hook 'emacs-startup-hook
          (lambda ()
            (if (getenv "SMITH_DEMO_READY")
                (demo-play)
              (demo-show-place)
              (smith))))
