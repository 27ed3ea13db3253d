;;; smith-uri.el --- Names of files on the wire  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Paths as URIs and back.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(defconst smith-uri--scheme "file://"
  "What the name of a file begins with.")

(defun smith-uri-of (path)
  "Return the URI of the file at PATH."
  (concat smith-uri--scheme
          (mapconcat (lambda (byte)
                       (if (string-match-p "[-A-Za-z0-9._~/]" (string byte))
                           (string byte)
                         (format "%%%02X" byte)))
                     (encode-coding-string (expand-file-name path)
                                           (smith-uri--coding))
                     "")))

(defun smith-uri-path (uri)
  "Return the path of the file that URI names, nil if it names none."
  (when (string-prefix-p smith-uri--scheme uri)
    (decode-coding-string
     (replace-regexp-in-string
      "%[[:xdigit:]]\\{2\\}"
      (lambda (code)
        (unibyte-string (string-to-number (substring code 1) 16)))
      (encode-coding-string (substring uri (length smith-uri--scheme)) 'utf-8-unix)
      t t)
     (smith-uri--coding))))

(defun smith-uri--coding ()
  "Return the coding system of names of files."
  (or file-name-coding-system default-file-name-coding-system 'utf-8-unix))

(provide 'smith-uri)
;;; smith-uri.el ends here
