;;; smith-buffers.el --- Files that are open, read and saved  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Which buffer visits a file, what it holds, and saving it because the server
;; asks.  A file is the same by device and inode, not by name.  Nobody is asked
;; anything: what Emacs would ask about is refused with the reason.
;;
;; Requires `smith-ready', `smith-rpc', `smith-sync', `smith-text' and
;; `smith-uri' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-ready)
(require 'smith-rpc)
(require 'smith-sync)
(require 'smith-text)
(require 'smith-uri)

(defconst smith-buffers--save-seconds 5
  "How long a wish to save waits for a command to end.")

;;; Which buffer

(defun smith-buffers-find (uri &optional real-path)
  "Return the buffer that visits the file of URI or at REAL-PATH, nil if none."
  (let ((path (smith-uri-path uri)))
    (or (and path (find-buffer-visiting path))
        (and real-path (find-buffer-visiting real-path)))))

(defun smith-buffers-conflict ()
  "Return why the file of this buffer is not this buffer's to change, nil if it is.
Emacs asks about these things at the first change of a buffer."
  (unless (or (buffer-modified-p) (not buffer-file-name))
    (let ((owner (file-locked-p buffer-file-truename)))
      (cond
       ((stringp owner)
        (format "%s edits the file in another Emacs" owner))
       ((and (not (verify-visited-file-modtime))
             (file-exists-p buffer-file-name)
             (smith-buffers--disk-differs-p))
        "the file on disk changed since it was read: revert the buffer first")))))

(defun smith-buffers--disk-differs-p ()
  "Return non-nil if the file of this buffer differs from the buffer."
  (let ((shown (current-buffer))
        (name buffer-file-name)
        (case-fold-search nil)
        (coding-system-for-read buffer-file-coding-system))
    (save-restriction
      (widen)
      (with-temp-buffer
        (insert-file-contents name)
        (not (zerop (compare-buffer-substrings shown nil nil
                                               (current-buffer) nil nil)))))))

(defun smith-buffers-holds-p (text)
  "Return non-nil if the file of this buffer can hold TEXT in its encoding."
  (let ((coding buffer-file-coding-system))
    (cond
     ((not enable-multibyte-characters) (not (string-match-p "[^[:ascii:]]" text)))
     ((or (null coding) (eq (coding-system-type coding) 'undecided)) t)
     (t (not (unencodable-char-position 0 (length text) coding nil text))))))

;;; `smith/readBuffer'

(defun smith-buffers-read (params)
  "Answer `smith/readBuffer' with PARAMS."
  (let ((buffer (smith-buffers-find (plist-get params :uri)
                                    (plist-get params :real_path))))
    (if (not buffer)
        (list :open :json-false)
      (smith-sync-flush buffer)
      (with-current-buffer buffer
        (unless (smith-text-unicode-p)
          (jsonrpc-error :code -32803 :message
                         "the buffer holds bytes that are no Unicode text"))
        (append (list :open t
                      :uri (smith-sync-uri buffer)
                      :text (smith-text-read)
                      :version (smith-sync-version buffer)
                      :modified (if (buffer-modified-p) t :json-false))
                (smith-text-facts))))))

;;; `smith/saveBuffers'

(defun smith-buffers-save (params)
  "Answer `smith/saveBuffers' with PARAMS; waits a while for a command to end."
  (let ((uris (append (plist-get params :uris) nil))
        (hashes (append (plist-get params :base_hashes) nil))
        (deadline (+ (float-time) smith-buffers--save-seconds))
        (promise (make-smith-rpc-promise)))
    (if (not (smith-buffers--obstacle uris))
        (smith-buffers--save-all uris hashes nil)
      (smith-ready-retry
       (lambda ()
         (let ((obstacle (smith-buffers--obstacle uris)))
           (when (or (not obstacle) (> (float-time) deadline))
             (smith-rpc-resolve
              promise (smith-buffers--save-all uris hashes obstacle))
             t))))
      promise)))

(defun smith-buffers--obstacle (uris)
  "Return why the buffers of URIS cannot be saved now, nil if they can."
  (seq-some #'smith-ready-obstacle
            (delq nil (mapcar #'smith-buffers-find uris))))

(defun smith-buffers--save-all (uris hashes obstacle)
  "Save the buffers of URIS, or refuse because of OBSTACLE; return the answer.
A buffer whose text does not have its hash of HASHES is not saved."
  (list :results
        (apply #'vector
               (seq-map-indexed
                (lambda (uri index)
                  (let* ((stale (and (not obstacle)
                                     (smith-buffers--stale
                                      uri (nth index hashes))))
                         (reason (or obstacle stale (smith-buffers--save uri))))
                    (append (list :uri uri
                                  :status (cond (stale "stale")
                                                (reason "refused")
                                                (t "saved")))
                            (and reason (list :message reason)))))
                uris))))

(defun smith-buffers--stale (uri hash)
  "Return why the buffer of URI is stale if its text does not have HASH."
  (let ((buffer (and hash (smith-buffers-find uri))))
    (when (and buffer
               (with-current-buffer buffer
                 (not (equal hash (smith-text-hash)))))
      "the text changed since it was read")))

(defun smith-buffers--save (uri)
  "Save the buffer of URI; return nil, or why it was not saved."
  (let ((buffer (smith-buffers-find uri)))
    (if (not buffer)
        "no buffer visits this file"
      (with-current-buffer buffer
        (when (buffer-modified-p)
          (or (smith-buffers--unsavable)
              (smith-buffers--write)))))))

(defun smith-buffers--unsavable ()
  "Return why Emacs would not write this buffer, or would ask first."
  (cond
   (buffer-read-only "the buffer is read-only")
   ((not (verify-visited-file-modtime))
    "the file on disk changed since it was read")
   ((not (file-writable-p buffer-file-name)) "the file cannot be written")
   ((not (smith-buffers-holds-p (smith-text-read)))
    "the encoding of the file cannot hold the text")))

(defun smith-buffers--write ()
  "Write this buffer to its file; return nil, or why that failed."
  (condition-case problem
      (let ((inhibit-interaction t)
            (save-silently t)
            (delete-old-versions (or delete-old-versions 'never)))
        (save-buffer)
        (smith-sync-flush (current-buffer))
        nil)
    (error (error-message-string problem))))

(provide 'smith-buffers)
;;; smith-buffers.el ends here
