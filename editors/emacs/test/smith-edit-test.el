;;; smith-edit-test.el --- Edits without a server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The data that all editors share, and what an edit does to a buffer.

;;; Code:

(require 'smith-test)

(defvar smith-test-notified nil
  "What the edits have told, newest first.")

(defun smith-test-edits ()
  "Return edits that tell `smith-test-notified'."
  (setq smith-test-notified nil)
  (smith-edit-new (lambda (method params)
                    (push (cons method params) smith-test-notified))))

(defun smith-test-request (edits &rest more)
  "Return the parameters of a request to make EDITS in this buffer.
MORE, a plist, goes before what is usual."
  (append more
          (list :change (format "change-%d" (random)) :uri (smith-uri-of buffer-file-name)
                :version 1 :base_hash (smith-text-hash) :label "test"
                :deadline (+ (smith-rpc-now) 30000) :edits (vconcat edits))))

(defun smith-test-edit (old new)
  "Return an edit that puts NEW in place of OLD, found in this buffer."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (search-forward old)
      (smith-test-edit-at (- (point) (length old)) (point) new))))

(defun smith-test-edit-at (beg end new)
  "Return an edit that puts NEW in place of the text from BEG to END."
  (list :range (list :start (smith-text-position beg) :end (smith-text-position end))
        :old (smith-text-between beg end) :newText new))

(defmacro smith-test-in-file (bytes &rest body)
  "Evaluate BODY in a buffer that visits a file of BYTES."
  (declare (indent 1) (debug t))
  `(smith-test-visiting (smith-test-file "odd.txt" ,bytes)
     (buffer-enable-undo)
     ,@body))

(defun smith-test-apply (&rest edits)
  "Make EDITS in this buffer and return the receipt."
  (smith-edit-handle (smith-test-edits) (smith-test-request edits)))

;;; Shared data

(defun smith-test-on-disk (vector text)
  "Return TEXT as it is on disk in the file of VECTOR."
  (encode-coding-string
   (concat (and (eq (plist-get vector :bom) t) "\ufeff") text)
   (if (equal (plist-get vector :encoding) "latin-1") 'iso-8859-1-unix 'utf-8-unix)))

(defun smith-test-play (vector)
  "Play VECTOR; return what came out: status, text, bytes after a save, undone text."
  (let* ((before (smith-test-on-disk vector (plist-get vector :text)))
         (path (smith-test-file "odd.txt" before)))
    (smith-test-visiting path
      (buffer-enable-undo)
      (let* ((base (plist-get vector :base))
             (params (apply #'smith-test-request (plist-get vector :edits)
                            (and base (list :base_hash base))))
             (receipt (smith-edit-handle (smith-test-edits) params))
             (after (smith-text-read))
             (untouched (equal (smith-test-bytes path) before)))
        (save-buffer)
        (list (plist-get receipt :status) after (smith-test-bytes path) untouched
              (and (equal (plist-get receipt :status) "applied")
                   (equal (plist-get receipt :hash) (smith-text-hash))))))))

(ert-deftest smith-edit-shared-vectors ()
  (let ((vectors (smith-test-vectors "edits.jsonl")))
    (should (> (length vectors) 50))
    (dolist (vector vectors)
      (let ((status (plist-get vector :status))
            (after (plist-get vector :after)))
        (should (equal (cons (plist-get vector :id) (smith-test-play vector))
                       (list (plist-get vector :id) status after
                             (smith-test-on-disk vector after) t
                             (equal status "applied"))))))))

(ert-deftest smith-edit-shared-hashes ()
  (let ((vectors (smith-test-vectors "hash.jsonl")))
    (should (> (length vectors) 20))
    (dolist (vector vectors)
      (let ((bytes (concat (apply #'concat
                                  (make-list (or (plist-get vector :repeat) 1)
                                             (plist-get vector :bytes_latin1)))
                           (plist-get vector :then_latin1))))
        (smith-test-in-file (encode-coding-string bytes 'iso-8859-1-unix)
          (should (equal (list (plist-get vector :id) (smith-text-hash))
                         (list (plist-get vector :id) (plist-get vector :hash)))))))))

;;; One step, or nothing

(ert-deftest smith-edit-stale-shows-the-lines-of-now ()
  (smith-test-in-file "one\ntwo\nthree\nfour\n"
    (let ((params (smith-test-request (list (smith-test-edit "two\nthree" "x")))))
      (goto-char (point-min))
      (search-forward "two")
      (insert ", mine")
      (should (equal (smith-edit-handle (smith-test-edits) params)
                     '(:status "stale" :message "the text changed since it was read"
                       :current (:range (:start (:line 1 :character 0)
                                         :end (:line 3 :character 0))
                                 :text "two, mine\nthree"))))
      (should (equal (buffer-string) "one\ntwo, mine\nthree\nfour\n")))))

(ert-deftest smith-edit-made-once-however-often-it-is-asked-for ()
  (smith-test-in-file "one\n"
    (let* ((edits (smith-test-edits))
           (params (smith-test-request (list (smith-test-edit "one" "one one"))))
           (receipt (smith-edit-handle edits params)))
      (should (equal (plist-get receipt :status) "applied"))
      (should (eq (smith-edit-handle edits params) receipt))
      (should (equal (buffer-string) "one one\n"))
      (should-not smith-test-notified))))

(ert-deftest smith-edit-forgets-old-receipts ()
  (let ((edits (smith-test-edits)))
    (dotimes (number 1010)
      (smith-edit--remember edits (format "%d" number) (list number)))
    (should (equal (hash-table-count (smith-edit-receipts edits)) 1000))
    (should-not (gethash "9" (smith-edit-receipts edits)))
    (should (equal (gethash "10" (smith-edit-receipts edits)) '(10)))))

(ert-deftest smith-edit-past-its-deadline-is-not-made ()
  (smith-test-in-file "one\n"
    (let ((params (smith-test-request (list (smith-test-edit "one" "x"))
                                      :deadline (1- (smith-rpc-now)))))
      (should (equal (plist-get (smith-edit-handle (smith-test-edits) params) :status)
                     "expired"))
      (should (equal (buffer-string) "one\n")))))

(ert-deftest smith-edit-of-a-file-that-is-open-nowhere-opens-none ()
  (let ((params (smith-test-in-file "one\n"
                  (smith-test-request (list (smith-test-edit "one" "x"))))))
    (should (equal (plist-get (smith-edit-handle (smith-test-edits) params) :status)
                   "gone"))
    (should-not (find-buffer-visiting "odd.txt"))))

(ert-deftest smith-edit-that-fails-in-the-middle-leaves-nothing ()
  (smith-test-in-file "one\ntwo\nthree\n"
    (let ((fail (lambda (beg _end)
                  (when (= beg 1)
                    (error "No")))))
      (add-hook 'before-change-functions fail nil t)
      (should (equal (smith-test-apply (smith-test-edit "one" "1")
                                       (smith-test-edit "three" "3"))
                     '(:status "failed" :message "No")))
      (should (equal (buffer-string) "one\ntwo\nthree\n"))
      (should-not (buffer-modified-p)))))

(ert-deftest smith-edit-of-read-only-text-is-refused ()
  (smith-test-in-file "one\ntwo\n"
    (with-silent-modifications
      (put-text-property 5 7 'read-only t))
    (should (equal (plist-get (smith-test-apply (smith-test-edit "two" "2")) :status)
                   "read_only"))
    (should (equal (plist-get (smith-test-apply (smith-test-edit-at 6 6 "x")) :status)
                   "read_only"))
    (should (equal (plist-get (smith-test-apply (smith-test-edit "one" "1")) :status)
                   "applied"))
    (should (equal (buffer-string) "1\ntwo\n"))))

(ert-deftest smith-edit-of-a-buffer-without-undo-says-so ()
  (smith-test-in-file "one\n"
    (buffer-disable-undo)
    (let ((receipt (smith-test-apply (smith-test-edit "one" "1"))))
      (should (equal (plist-get receipt :status) "applied"))
      (should (equal (plist-get receipt :message) "undo is off in this buffer"))
      (should (eq buffer-undo-list t)))))

(ert-deftest smith-edit-asks-nobody-about-a-file-that-changed-on-disk ()
  (smith-test-in-file "one\ntwo\n"
    (smith-test-file "odd.txt" "one\nfrom elsewhere\n")
    (set-file-times "odd.txt" (time-add nil 60))
    (let ((receipt (smith-test-apply (smith-test-edit "two" "2"))))
      (should (equal (plist-get receipt :status) "refused"))
      (should (equal (buffer-string) "one\ntwo\n")))
    (smith-test-file "odd.txt" "one\ntwo\n")
    (set-file-times "odd.txt" (time-add nil 120))
    (should (equal (plist-get (smith-test-apply (smith-test-edit "two" "2")) :status)
                   "applied"))))

(ert-deftest smith-edit-of-bytes-that-are-no-text-is-refused ()
  (smith-test-in-file "one\n"
    (insert (string #x3fffe0) "\n")
    (let ((receipt (smith-test-apply
                    (list :range '(:start (:line 1 :character 0)
                                   :end (:line 1 :character 3))
                          :old "one" :newText "x"))))
      (should (equal (plist-get receipt :status) "refused")))))

(ert-deftest smith-edit-of-a-large-document-is-refused ()
  (smith-test-in-file (make-string (+ (* 10 1024 1024) 1) ?x)
    (should (equal (smith-test-apply (smith-test-edit-at 1 2 "y"))
                   '(:status "refused" :message "the document is larger than 10 MB")))))

;;; Places stay with their text

(ert-deftest smith-edit-point-windows-and-mark-stay-with-their-text ()
  (smith-test-in-file "zero\none\ntwo\nthree\nfour\n"
    (let ((other (split-window)))
      (set-window-buffer (selected-window) (current-buffer))
      (set-window-buffer other (current-buffer))
      (set-window-point (selected-window) 6)
      (goto-char 6)
      (set-window-point other 12)
      (set-window-start other 6)
      (push-mark 14 t nil)
      (should (equal (plist-get (smith-test-apply
                                 (smith-test-edit-at 1 1 "above\n")
                                 (smith-test-edit-at 6 6 "inserted\n")
                                 (smith-test-edit "two" "TWO, longer")
                                 (smith-test-edit-at 14 14 "right before\n"))
                                :status)
                     "applied"))
      (should (equal (buffer-string) "above\nzero\ninserted\none\nTWO, longer\n\
right before\nthree\nfour\n"))
      (should (looking-at "one"))
      (should (= (window-point (selected-window)) (point)))
      (goto-char (window-start other))
      (should (looking-at "one"))
      (goto-char (window-point other))
      (should (looking-at "O, longer"))
      (goto-char (mark t))
      (should (looking-at "three"))
      (delete-window other))))

(ert-deftest smith-edit-point-at-the-end-of-a-taken-out-line-stays-in-the-text ()
  (smith-test-in-file "one\ntwo\nthree\n"
    (goto-char 7)
    (smith-test-apply (smith-test-edit "two\n" ""))
    (should (= (point) 5))
    (should (equal (buffer-string) "one\nthree\n"))))

;;; Places on the wire

(ert-deftest smith-text-places-are-there-or-are-not ()
  (with-temp-buffer
    (insert "é😀\n\nlast")
    (narrow-to-region 3 4)
    (let ((place (lambda (line character)
                   (smith-text-place (list :line line :character character)))))
      (should (equal (list (funcall place 0 0) (funcall place 0 2) (funcall place 0 3)
                           (funcall place 1 0) (funcall place 1 1) (funcall place 2 4)
                           (funcall place 2 5) (funcall place 3 0))
                     '(1 3 nil 4 nil 9 nil nil))))
    (widen)
    (dotimes (index (1+ (buffer-size)))
      (should (= (smith-text-place (smith-text-position (1+ index))) (1+ index))))
    (goto-char (point-max))
    (insert "\n")
    (should (= (smith-text-place '(:line 3 :character 0)) (point-max)))))

(ert-deftest smith-uri-names-of-files-go-there-and-back ()
  (dolist (path '("/a/b c.txt" "/ü/😀%41.el" "/a#b?c&d=e" "/plain"))
    (should (equal (smith-uri-path (smith-uri-of path)) path))
    (should-not (string-match-p "[^-A-Za-z0-9._~/%:]" (smith-uri-of path))))
  (should (equal (smith-uri-of "/a b") "file:///a%20b"))
  (should-not (smith-uri-path "untitled:x")))

;;; What Emacs cannot read

(ert-deftest smith-rpc-takes-the-picture-of-a-nul-however-it-comes ()
  (let ((text "{\"a\":\"x\\u0000\\u0000y\\\\u0000\\\\\\u0000z\\u00001\\n\"}")
        (wanted "{\"a\":\"x\\u2400\\u2400y\\\\u0000\\\\\\u2400z\\u24001\\n\"}"))
    (dotimes (size (length text))
      (let ((self (smith-rpc--make)))
        (should (equal (mapconcat (lambda (piece) (smith-rpc--readable self piece))
                                  (seq-partition text (1+ size)) "")
                       wanted))
        (should (equal (smith-rpc-held self) ""))))))

(provide 'smith-edit-test)
;;; smith-edit-test.el ends here
