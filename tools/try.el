;;; try.el --- `tools/try emacs'  -*- lexical-binding: t; -*-

;; Loaded after the user's own configuration: the package of this checkout and
;; the server of its private environment.

(let ((repository (expand-file-name ".." (file-name-directory load-file-name))))
  (add-to-list 'load-path (expand-file-name "editors/emacs" repository))
  (require 'smith)
  (setq smith-command (list (expand-file-name ".venv/bin/smith" repository) "serve")
        ;; It would take the window from the chat.
        inhibit-startup-screen t))

(setq inhibit-startup-screen t)
(add-hook 'emacs-startup-hook #'smith 90)
