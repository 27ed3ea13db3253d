;;; emacs.el --- Lets the benchmark look into an Emacs  -*- lexical-binding: t; -*-

;; Connects to the socket that SMITH_BENCH_SOCKET names, evaluates each line
;; that comes and answers it with a line.  Tells when the words that are awaited
;; are in a buffer, and how many times nothing else could run for a while.

(defvar bench-wire nil)
(defvar bench-unread "")
(defvar bench-awaited nil)
(defvar bench-last nil)
(defvar bench-gaps 0)

(defun bench-answer (form)
  "Evaluate FORM and answer with its value."
  (process-send-string
   bench-wire (format "%S\n" (condition-case problem (eval (read form) t)
                               (error (list 'problem (error-message-string problem)))))))

(defun bench-filter (_process string)
  "Evaluate the lines in STRING."
  (setq bench-unread (concat bench-unread string))
  (while (string-match "\n" bench-unread)
    (let ((form (substring bench-unread 0 (match-beginning 0))))
      (setq bench-unread (substring bench-unread (match-end 0)))
      (bench-answer form))))

(defun bench-look (buffer)
  "Tell if what is awaited is at the end of BUFFER now."
  (when bench-awaited
    (with-current-buffer buffer
      (save-excursion
        (goto-char (point-max))
        (when (search-backward bench-awaited (max (point-min) (- (point-max) 2000)) t)
          (setq bench-awaited nil)
          (process-send-string bench-wire (format "seen %d\n" (* 1e9 (float-time)))))))))

(defun bench-tick (most)
  "Count the gap since the last call if it was longer than MOST seconds."
  (let ((now (float-time)))
    (when (and bench-last (> (- now bench-last) most))
      (setq bench-gaps (1+ bench-gaps)))
    (setq bench-last now)))

(defun bench-count (most)
  "Count from now on gaps of more than MOST seconds; return how many there were."
  (cancel-function-timers #'bench-tick)
  (prog1 bench-gaps
    (setq bench-gaps 0
          bench-last nil)
    (when most
      (run-with-timer 0 0.002 #'bench-tick most))))

(setq bench-wire (make-network-process :name "bench" :family 'local :noquery t
                                       :service (getenv "SMITH_BENCH_SOCKET")
                                       :coding 'utf-8-unix :filter #'bench-filter))
