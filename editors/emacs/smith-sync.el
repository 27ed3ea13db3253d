;;; smith-sync.el --- The server's copy of open files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Every buffer that visits a file under the root of a server is open there,
;; however the buffer came to be.  What changes is noted at once and sent a
;; moment later, or when somebody needs the server to know: `smith-sync-flush'.
;;
;; A change is noted as what it left alone: so many characters from the
;; beginning and from the end.  That needs no copy of the text, and every
;; number of changes makes one.  Text that changed without telling, as from an
;; indirect buffer, is seen by the count of changes that Emacs keeps, and sent
;; whole.
;;
;; Requires `smith-rpc', `smith-text' and `smith-uri' of this package, and must
;; not require more.

;;; Code:

(require 'cl-lib)
(require 'smith-rpc)
(require 'smith-text)
(require 'smith-uri)

(defconst smith-sync--seconds 0.15
  "How long a change may wait before it is sent.")

(cl-defstruct (smith-sync--doc (:constructor smith-sync--make-doc) (:copier nil))
  "An open document.
BUFFER is where it is, CONNECTIONS who has it, NAME its file, URI and VERSION
what it is called there.  CODING, SIZE, LINES and LAST-COLUMN tell what was sent last: coding
system, characters, line ends, length of the last line.  TICK counts the
changes that were noted.  HEAD and TAIL are the characters that have not
changed since, nil if nothing has, and SHIFT is by how much the text has grown."
  buffer connections name uri (version 0)
  coding size lines last-column
  tick head tail (shift 0))

(defvar-local smith-sync--doc nil
  "The document of this buffer, nil if no server has it.")
(put 'smith-sync--doc 'permanent-local t)

(defvar-local smith-sync--unfit-tick nil
  "Count of changes at which this buffer could not be sent.")

(defvar smith-sync--timer nil
  "Timer that sends what has changed.")

;;; What others see

(defun smith-sync-start (connection)
  "Open every file under the root of CONNECTION at its server, from now on."
  (add-hook 'find-file-hook #'smith-sync--found-file)
  (dolist (buffer (buffer-list))
    (smith-sync--attach buffer connection)))

(defun smith-sync-stop (connection)
  "Forget CONNECTION, whose server is gone."
  (dolist (buffer (buffer-list))
    (let ((doc (buffer-local-value 'smith-sync--doc buffer)))
      (when (and doc (eq buffer (smith-sync--doc-buffer doc)))
        (cl-callf2 delq connection (smith-sync--doc-connections doc))
        (unless (smith-sync--doc-connections doc)
          (smith-sync--forget doc)))))
  (unless (smith-rpc-connections)
    (remove-hook 'find-file-hook #'smith-sync--found-file)))

(defun smith-sync-flush-all ()
  "Send what has changed anywhere, and open what was not open yet."
  (when (timerp smith-sync--timer)
    (cancel-timer smith-sync--timer))
  (setq smith-sync--timer nil)
  (dolist (buffer (buffer-list))
    (smith-sync-flush buffer)))

(defun smith-sync-flush (buffer)
  "Send what has changed in BUFFER; open it where it was not open yet."
  (let ((doc (smith-sync--doc-of buffer)))
    (when doc
      (with-current-buffer buffer
        (smith-sync--send doc))))
  (dolist (connection (smith-rpc-connections))
    (smith-sync--attach buffer connection)))

(defun smith-sync-version (buffer)
  "Return the version of BUFFER that was sent last, 0 if none was."
  (let ((doc (smith-sync--doc-of buffer)))
    (if doc (smith-sync--doc-version doc) 0)))

(defun smith-sync-uri (buffer)
  "Return the name under which BUFFER is open at the server."
  (let ((doc (smith-sync--doc-of buffer)))
    (if doc
        (smith-sync--doc-uri doc)
      (smith-uri-of (buffer-file-name buffer)))))

;;; Which buffers

(defun smith-sync--doc-of (buffer)
  "Return the document of BUFFER, nil if it has none.
A clone of a buffer has the variable of the first one, and is not meant."
  (let ((doc (buffer-local-value 'smith-sync--doc buffer)))
    (and doc (eq buffer (smith-sync--doc-buffer doc)) doc)))

(defun smith-sync--under-p (buffer root)
  "Return non-nil if BUFFER visits a file of this machine under ROOT."
  (let ((name (buffer-file-name buffer)))
    (and name
         (not (buffer-base-buffer buffer))
         (not (file-remote-p name))
         (or (string-prefix-p root name)
             (string-prefix-p
              root (expand-file-name
                    (buffer-local-value 'buffer-file-truename buffer)))))))

(defun smith-sync--attach (buffer connection)
  "Open BUFFER at the server of CONNECTION, unless it is, or does not belong there."
  (let ((doc (smith-sync--doc-of buffer)))
    (unless (or (not (smith-rpc-ready-p connection))
                (and doc (memq connection (smith-sync--doc-connections doc)))
                (not (smith-sync--under-p buffer (smith-rpc-root connection))))
      (with-current-buffer buffer
        (when (smith-sync--fit-p)
          (unless doc
            (setq doc (smith-sync--watch)))
          (smith-sync--send doc)
          (push connection (smith-sync--doc-connections doc))
          (smith-sync--open doc (list connection)))))))

(defun smith-sync--fit-p ()
  "Return non-nil if the text of this buffer can be sent.
A buffer that could not is not looked at again until it changes."
  (let ((tick (buffer-chars-modified-tick)))
    (unless (eql tick smith-sync--unfit-tick)
      (setq smith-sync--unfit-tick (and (not (smith-text-unicode-p)) tick))
      (not smith-sync--unfit-tick))))

(defun smith-sync--watch ()
  "Make a document of this buffer and note what happens to it."
  (add-hook 'after-change-functions #'smith-sync--changed nil t)
  (add-hook 'kill-buffer-hook #'smith-sync--killed nil t)
  (setq smith-sync--doc (smith-sync--make-doc :buffer (current-buffer)))
  (smith-sync--note-sent smith-sync--doc)
  smith-sync--doc)

(defun smith-sync--forget (doc)
  "Note no more what happens to DOC."
  (with-current-buffer (smith-sync--doc-buffer doc)
    (remove-hook 'after-change-functions #'smith-sync--changed t)
    (remove-hook 'kill-buffer-hook #'smith-sync--killed t)
    (setq smith-sync--doc nil)))

;;; What Emacs tells

(defun smith-sync--found-file ()
  "Open the file that was just visited."
  (dolist (connection (smith-rpc-connections))
    (smith-sync--attach (current-buffer) connection)))

(defun smith-sync--changed (beg end old-length)
  "Note that OLD-LENGTH characters became the text from BEG to END."
  (when smith-sync--doc
    (smith-sync--note smith-sync--doc (1- beg) (- (buffer-size) (1- end))
                      (- end beg old-length))))
(put 'smith-sync--changed 'permanent-local-hook t)

(defun smith-sync--note (doc head tail shift)
  "Note a change of DOC that left HEAD and TAIL alone and grew the text by SHIFT."
  (setf (smith-sync--doc-head doc) (min head (or (smith-sync--doc-head doc) head))
        (smith-sync--doc-tail doc) (min tail (or (smith-sync--doc-tail doc) tail))
        (smith-sync--doc-tick doc) (buffer-chars-modified-tick))
  (cl-incf (smith-sync--doc-shift doc) shift)
  (unless smith-sync--timer
    (setq smith-sync--timer
          (run-with-timer smith-sync--seconds nil #'smith-sync-flush-all))))

(defun smith-sync--killed ()
  "Close the document of a buffer that is going away."
  (let ((doc (smith-sync--doc-of (current-buffer))))
    (when doc
      (smith-sync--close doc)
      (smith-sync--forget doc))))
(put 'smith-sync--killed 'permanent-local-hook t)

;;; What the server is told

(defun smith-sync--notify (connections method params)
  "Send METHOD with PARAMS over CONNECTIONS."
  (dolist (connection connections)
    (smith-rpc-notify connection method params)))

(defun smith-sync--note-sent (doc)
  "Note that the server has the text of DOC as it is now."
  (let ((end (1+ (buffer-size))))
    (setf (smith-sync--doc-coding doc) buffer-file-coding-system
          (smith-sync--doc-size doc) (buffer-size)
          (smith-sync--doc-lines doc) (smith-text-lines-before end)
          (smith-sync--doc-last-column doc) (smith-text-column end)
          (smith-sync--doc-tick doc) (buffer-chars-modified-tick)
          (smith-sync--doc-head doc) nil
          (smith-sync--doc-tail doc) nil
          (smith-sync--doc-shift doc) 0)))

(defun smith-sync--open (doc connections)
  "Open DOC with its whole text at the servers of CONNECTIONS."
  (unless (smith-sync--doc-uri doc)
    (setf (smith-sync--doc-name doc) buffer-file-name
          (smith-sync--doc-uri doc) (smith-uri-of buffer-file-name)))
  (smith-sync--note-sent doc)
  (smith-sync--notify
   connections 'textDocument/didOpen
   (list :textDocument
         (list :uri (smith-sync--doc-uri doc)
               :languageId (replace-regexp-in-string
                            "-mode\\'" "" (symbol-name major-mode))
               :version (cl-incf (smith-sync--doc-version doc))
               :text (smith-text-read)))))

(defun smith-sync--close (doc)
  "Close DOC at all servers that have it."
  (smith-sync--notify (smith-sync--doc-connections doc) 'textDocument/didClose
                      (list :textDocument
                            (list :uri (smith-sync--doc-uri doc)))))

(defun smith-sync--send (doc)
  "Send what is new in DOC, whose buffer is current."
  (cond
   ((not (smith-sync--doc-connections doc)))
   ((not (and (equal (smith-sync--doc-name doc) buffer-file-name)
              (eq (smith-sync--doc-coding doc) buffer-file-coding-system)))
    (smith-sync--send-again doc))
   ((smith-sync--silent-p doc)
    (smith-sync--send-change doc (smith-sync--whole-change)))
   ((null (smith-sync--doc-head doc)))
   ((eq (smith-text-eol) 'mac)
    (smith-sync--send-change doc (smith-sync--whole-change)))
   (t
    (smith-sync--send-change doc (smith-sync--change doc)))))

(defun smith-sync--send-again (doc)
  "Close DOC and open it, under its name and with its line ends of now."
  (let ((connections (smith-sync--doc-connections doc)))
    (smith-sync--close doc)
    (setf (smith-sync--doc-uri doc) nil)
    (if (and buffer-file-name (smith-sync--fit-p))
        (smith-sync--open doc connections)
      (smith-sync--forget doc))))

(defun smith-sync--silent-p (doc)
  "Return non-nil if the text of DOC changed without telling."
  (or (/= (smith-sync--doc-tick doc) (buffer-chars-modified-tick))
      (/= (+ (smith-sync--doc-size doc) (smith-sync--doc-shift doc))
          (buffer-size))))

(defun smith-sync--send-change (doc change)
  "Send CHANGE, with which the server's copy of DOC is the text of now.
CHANGE is nil if that text cannot be sent; then DOC is closed."
  (if (not change)
      (progn
        (setq smith-sync--unfit-tick (buffer-chars-modified-tick))
        (smith-sync--close doc)
        (smith-sync--forget doc))
    (smith-sync--note-sent doc)
    (smith-sync--notify
     (smith-sync--doc-connections doc) 'textDocument/didChange
     (list :textDocument (list :uri (smith-sync--doc-uri doc)
                               :version (cl-incf (smith-sync--doc-version doc)))
           :contentChanges (vector change)))))

(defun smith-sync--whole-change ()
  "Return the whole text as a change, nil if it cannot be sent."
  (and (smith-text-unicode-p) (list :text (smith-text-read))))

(defun smith-sync--change (doc)
  "Return what changed in DOC since it was sent, nil if it cannot be sent.
The change goes up to the end of a line, where the place in the old text is
known without that text: so many lines before its end, or its very end."
  (let* ((beg (1+ (smith-sync--doc-head doc)))
         (end (smith-sync--line-end (- (1+ (buffer-size))
                                       (smith-sync--doc-tail doc))))
         (after (and end (- (smith-text-lines-before (1+ (buffer-size)))
                            (smith-text-lines-before end))))
         (stop (or end (1+ (buffer-size)))))
    (when (smith-text-unicode-p beg stop)
      (list :range
            (list :start (smith-text-position beg)
                  :end (list :line (- (smith-sync--doc-lines doc) (or after 0))
                             :character (if end 0 (smith-sync--doc-last-column doc))))
            :text (smith-text-between beg stop)))))

(defun smith-sync--line-end (position)
  "Return the place after the line end at or after POSITION, nil if there is none."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char position)
      (skip-chars-forward "^\n")
      (unless (eobp)
        (1+ (point))))))

(provide 'smith-sync)
;;; smith-sync.el ends here
