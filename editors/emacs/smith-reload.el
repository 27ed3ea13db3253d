;;; smith-reload.el --- Files that changed under open buffers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer without unsaved text takes the new text of its file without a
;; question, as one undo step, with point and marks at what they stood at.  One
;; with unsaved text keeps it, and the person is told.
;;
;; Requires `smith-ready' and `smith-uri' of this package, and must not require
;; more.

;;; Code:

(require 'seq)
(require 'smith-ready)
(require 'smith-uri)

(defconst smith-reload--seconds 0.5
  "How long is looked for what two texts have in common.")

(defun smith-reload-take-in (root paths)
  "Take in that the files at PATHS have changed; relative ones begin at ROOT."
  (seq-doseq (path paths)
    (let ((buffer (find-buffer-visiting (expand-file-name path root))))
      (when (and buffer (not (smith-reload--try buffer)))
        (smith-ready-retry (lambda () (smith-reload--try buffer)))))))

(defun smith-reload--try (buffer)
  "Take the file of BUFFER in if that may be now; return nil if it may not."
  (cond
   ((not (buffer-live-p buffer)) t)
   ((smith-reload--current-p buffer) t)
   ((buffer-modified-p buffer)
    (message "smith: %s changed on disk; your unsaved text is kept"
             (abbreviate-file-name (buffer-file-name buffer)))
    t)
   ((smith-ready-obstacle buffer) nil)
   (t
    (with-current-buffer buffer
      (smith-reload--read))
    t)))

(defun smith-reload--current-p (buffer)
  "Return non-nil if there is nothing new in the file of BUFFER."
  (let ((file (buffer-file-name buffer)))
    (or (not (and file (file-readable-p file)))
        (and (verify-visited-file-modtime buffer)
             (not (eq (visited-file-modtime) 0))))))

(defun smith-reload--read ()
  "Let this buffer be what its file is."
  (let* ((buffer (current-buffer))
         (file buffer-file-name)
         (base (coding-system-base (or buffer-file-coding-system 'undecided)))
         ;; Of what is known of the file its line ends may have changed.
         (coding-system-for-read (and (not (eq (coding-system-type base) 'undecided))
                                      base)))
    (with-temp-buffer
      (insert-file-contents file)
      (let ((new (current-buffer))
            (coding last-coding-system-used))
        (with-current-buffer buffer
          (smith-reload--replace new)
          (setq buffer-file-coding-system coding))))
    (set-visited-file-modtime)
    (restore-buffer-modified-p nil)
    (run-hooks 'after-revert-hook)))

(defun smith-reload--replace (new)
  "Put the text of the buffer NEW into this one as one undo step."
  (let ((inhibit-read-only t)
        (file buffer-file-name))
    (save-restriction
      (widen)
      (undo-boundary)
      ;; Without the name of a file Emacs asks nothing about the one on disk.
      (setq buffer-file-name nil)
      (unwind-protect
          (replace-buffer-contents new smith-reload--seconds)
        (setq buffer-file-name file))
      (undo-boundary))))

(provide 'smith-reload)
;;; smith-reload.el ends here
