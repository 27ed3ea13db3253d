;;; editor.el --- Floor M: a bare client in Emacs  -*- lexical-binding: t; -*-

;; Each notification that jsonrpc.el takes in is one insertion at the end of a
;; buffer.  `bench-send' sends a frame, which begins an answer.

(require 'jsonrpc)

(defvar bench-connection nil)
(defvar bench-buffer (get-buffer-create "floor"))

(defun bench-connect (&rest command)
  "Start the server COMMAND."
  (switch-to-buffer bench-buffer)
  (setq bench-connection
        (apply #'make-instance 'jsonrpc-process-connection
               :name "floor"
               :process (make-process :name "floor" :command command :noquery t
                                      :connection-type 'pipe :coding 'utf-8-emacs-unix)
               :notification-dispatcher #'bench-insert
               ;; No log of what comes; the option has a newer name.
               (if (slot-exists-p 'jsonrpc-process-connection '-events-buffer-config)
                   '(:events-buffer-config (:size 0))
                 '(:events-buffer-scrollback-size 0)))))

(defun bench-insert (_connection _method params)
  "Insert the text in PARAMS."
  (with-current-buffer bench-buffer
    (save-excursion
      (goto-char (point-max))
      (insert (plist-get params :text)))
    (bench-look bench-buffer)))

(defun bench-send ()
  "Begin an answer."
  (jsonrpc-notify bench-connection 'go nil))
