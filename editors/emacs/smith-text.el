;;; smith-text.el --- The text of a buffer as the server has it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A document is the whole text of a buffer, with the line ends of its file
;; and without a byte-order mark.  Its hash, what travels beside it, and
;; places in it, as characters (UTF-32) from the beginning of a line.
;;
;; Looks at the current buffer, whatever its narrowing, and changes nothing.
;; Requires no other file of this package, and must not.

;;; Code:

(defconst smith-text--empty '("\n" "\r\n" "\r")
  "Texts that count as empty: editors show an empty file and these alike.")

(defconst smith-text--unicode
  (format "\0-%c%c-%c" #xd7ff #xe000 #x10ffff)
  "Characters that may be sent, for `skip-chars-forward'.")

(defconst smith-text--eol-names '((unix . "lf") (dos . "crlf") (mac . "cr"))
  "Names of line ends on the wire.")

(defmacro smith-text--whole (&rest body)
  "Evaluate BODY without narrowing; point, match data and narrowing are kept."
  (declare (indent 0) (debug t))
  `(save-excursion
     (save-match-data
       (save-restriction
         (widen)
         ,@body))))

(defun smith-text-eol ()
  "Return what ends a line of the document: `unix', `dos' or `mac'."
  (pcase (and buffer-file-coding-system
              (coding-system-eol-type buffer-file-coding-system))
    (1 'dos)
    (2 'mac)
    (_ 'unix)))

(defun smith-text-line-end ()
  "Return the line end of the document as a string."
  (pcase (smith-text-eol)
    ('dos "\r\n")
    ('mac "\r")
    (_ "\n")))

(defun smith-text-between (beg end)
  "Return the text of the document from BEG to END, which are buffer positions."
  (smith-text--whole
    (let ((text (buffer-substring-no-properties beg end))
          (line-end (smith-text-line-end)))
      (if (string= line-end "\n")
          text
        (string-replace "\n" line-end text)))))

(defun smith-text-read ()
  "Return the text of the document."
  (smith-text-between 1 (1+ (buffer-size))))

(defun smith-text-size ()
  "Return the size of the document in bytes of UTF-8."
  (smith-text--whole
    (+ (1- (position-bytes (point-max)))
       (if (eq (smith-text-eol) 'dos)
           (1- (line-number-at-pos (point-max)))
         0))))

(defun smith-text-hash ()
  "Return the hash of the document: 16 hex digits."
  (smith-text--whole
    (let ((bytes (encode-coding-region
                  (point-min) (point-max)
                  (coding-system-change-eol-conversion 'utf-8 (smith-text-eol))
                  t)))
      (substring (secure-hash 'sha256 (if (member bytes smith-text--empty)
                                          ""
                                        bytes))
                 0 16))))

(defun smith-text-unicode-p (&optional beg end)
  "Return non-nil if all characters can be sent, between BEG and END if given."
  (smith-text--whole
    (goto-char (or beg (point-min)))
    (skip-chars-forward (if enable-multibyte-characters
                            smith-text--unicode
                          "\0-\177")
                        (or end (point-max)))
    (>= (point) (or end (point-max)))))

(defun smith-text-clean (string)
  "Return STRING with U+FFFD for the characters that cannot be sent."
  (replace-regexp-in-string (concat "[^" smith-text--unicode "]") "\ufffd" string))

(defun smith-text-find (string)
  "Return non-nil if STRING is in the text."
  (smith-text--whole
    (goto-char (point-min))
    (search-forward string nil t)))

(defun smith-text-only-cr-p ()
  "Return non-nil if all line ends are CR, on whose lines editors do not agree."
  (if (smith-text-find "\n")
      (eq (smith-text-eol) 'mac)
    (smith-text-find "\r")))

(defun smith-text-facts ()
  "Return what travels beside the text: encoding, line ends, byte-order mark."
  (list :encoding (smith-text--encoding)
        :eol (alist-get (smith-text-eol) smith-text--eol-names)
        :bom (if (and buffer-file-coding-system
                      (eq (coding-system-get buffer-file-coding-system :bom) t))
                 t
               :json-false)
        :final_newline (if (eq (char-before (1+ (buffer-size))) ?\n) t :json-false)))

(defun smith-text--encoding ()
  "Return the name of the encoding of the file."
  (let ((coding (or buffer-file-coding-system 'undecided)))
    (cond
     ((eq (coding-system-type coding) 'undecided) "utf-8")
     ((coding-system-get coding :mime-charset)
      (symbol-name (coding-system-get coding :mime-charset)))
     (t (replace-regexp-in-string
         "-with-signature\\'" "" (symbol-name (coding-system-base coding)))))))

(defun smith-text-lines-before (position)
  "Return the number of line ends before POSITION."
  (1- (line-number-at-pos position t)))

(defun smith-text-column (position)
  "Return the number of characters between POSITION and the start of its line."
  (smith-text--whole
    (goto-char position)
    (skip-chars-backward "^\n")
    (- position (point))))

(defun smith-text-position (position)
  "Return the place of buffer POSITION in terms of the wire."
  (list :line (smith-text-lines-before position)
        :character (smith-text-column position)))

(defun smith-text-place (position)
  "Return the buffer position of POSITION of the wire, nil if there is none."
  (smith-text--whole
    (let ((line (plist-get position :line))
          (character (plist-get position :character)))
      (goto-char (point-min))
      (and (zerop (forward-line line))
           (or (zerop line) (eq (char-before) ?\n))
           (let ((place (+ (point) character)))
             (skip-chars-forward "^\n")
             (and (<= place (point)) place))))))

(defun smith-text-lines (first last)
  "Return the lines FIRST to LAST, counted from 0, as far as they are there.
The value has the form of `current' in a receipt: a range and its text, which
ends without a line end."
  (smith-text--whole
    (let* ((bottom (smith-text-lines-before (point-max)))
           (first (min first bottom))
           (last (max first (min last bottom)))
           (beg (progn (goto-char (point-min)) (forward-line first) (point)))
           (end (progn (forward-line (- last first))
                       (skip-chars-forward "^\n")
                       (point))))
      (list :range (list :start (list :line first :character 0)
                         :end (list :line (1+ last) :character 0))
            :text (smith-text-between beg end)))))

(provide 'smith-text)
;;; smith-text.el ends here
