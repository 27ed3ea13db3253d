;;; smith-chat.el --- The chat buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One buffer for each session: what was said above, what the person types
;; below a rule.  Draws when it is told what changed, and only when that cannot
;; come between two keys of one command.  Sends nothing; its keys name commands
;; of the files above.
;;
;; Requires `smith-block', `smith-input', `smith-label', `smith-modeline',
;; `smith-options', `smith-part', `smith-ready', `smith-record' and
;; `smith-session' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-block)
(require 'smith-input)
(require 'smith-label)
(require 'smith-modeline)
(require 'smith-options)
(require 'smith-part)
(require 'smith-ready)
(require 'smith-record)
(require 'smith-session)

(defconst smith-chat--narrowest 20
  "A line has at least so many columns.")

(defvar-local smith-chat-session nil
  "The session that this buffer shows.")

(defvar-local smith-chat-context nil
  "What goes along with the next prompt: a plist for the wire, with a label.")

(defvar-local smith-chat-sent nil
  "Non-nil if the person has sent something from here.")

(defvar-local smith-chat--talk nil
  "The talk that is drawn.")

(defvar-local smith-chat--changed nil
  "Parts that are not drawn yet, newest first.")

(defvar-local smith-chat--removed nil
  "Parts that are to be taken away.")

(defvar-local smith-chat--stale t
  "Non-nil if all is to be drawn anew.")

(defvar-local smith-chat--waits nil
  "Non-nil if drawing waits until Emacs is ready.")

(defvar-local smith-chat--footer nil
  "What stands between the drawn part and what is typed.")

;;; The mode

(defvar smith-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") 'smith-return)
    (define-key map (kbd "C-j") 'newline)
    (define-key map (kbd "TAB") 'smith-tab)
    (define-key map (kbd "C-c C-c") 'smith-send-prompt)
    (define-key map (kbd "C-c C-k") 'smith-cancel)
    (define-key map (kbd "C-c C-y") 'smith-yes)
    (define-key map (kbd "C-c C-n") 'smith-no)
    (define-key map (kbd "C-c C-a") 'smith-always)
    (define-key map (kbd "C-c C-q") 'smith-go-to-question)
    (define-key map (kbd "C-c C-u") 'smith-older-page)
    (define-key map (kbd "M-p") 'smith-input-older)
    (define-key map (kbd "M-n") 'smith-input-newer)
    (define-key map (kbd "<up>") 'smith-input-up)
    (define-key map (kbd "<down>") 'smith-input-down)
    (define-key map [remap self-insert-command] 'smith-self-insert)
    map)
  "Keys of a chat.")

(defconst smith-chat--mode-line
  '("%e " mode-line-buffer-identification "  " (:eval (smith-chat--status))
    "  " mode-line-misc-info)
  "The mode line of a chat: its name, then what the agent does.")

(define-derived-mode smith-chat-mode nil "Smith"
  "Major mode for talking with a coding agent.

Above the rule stands what was said and done, below it you type.  \\<smith-chat-mode-map>\
\\[smith-return] sends the
prompt, \\[newline] begins a new line, \\[smith-cancel] stops the running turn.
A line that begins with a slash is a command of the server; /help lists them.

A tool call is one line; \\[smith-tab] on it shows its output or its diff.
A question of the agent is answered by y, n or a (always) when point
is on it, and from anywhere in the chat by \\[smith-yes], \\[smith-no] or \\[smith-always].
Whatever else you type above the rule goes to the prompt.

\\{smith-chat-mode-map}"
  (setq-local word-wrap t
              truncate-lines nil
              truncate-partial-width-windows nil
              scroll-conservatively 101
              scroll-margin 0
              require-final-newline nil
              filter-buffer-substring-function #'smith-chat--plain
              completion-at-point-functions '(smith-complete-at-point)
              mode-line-format smith-chat--mode-line)
  ;; What is folded shows as this.
  (setq buffer-display-table (make-display-table))
  (set-display-table-slot buffer-display-table 'selective-display
                          (vector ?\s (make-glyph-code ?… 'smith-detail)))
  (smith-block-start)
  (setq smith-input-start (copy-marker (point-max)))
  (add-hook 'window-size-change-functions #'smith-chat--fit nil t)
  (buffer-enable-undo))

(defun smith-chat--plain (beg end delete)
  "Return the text from BEG to END as it is copied; DELETE it if that is non-nil."
  (substring-no-properties (buffer-substring--filter beg end delete)))

(defun smith-chat--status ()
  "Return the status in the mode line of this buffer."
  (if smith-chat-session (smith-modeline-escaped smith-chat-session) ""))

(defun smith-chat--fit (&rest _)
  "Let lines be as long as the narrowest window of this buffer has room for."
  (let ((widths (mapcar #'window-max-chars-per-line (get-buffer-window-list nil nil t))))
    (when widths
      (setq smith-block-width (max smith-chat--narrowest (1- (apply #'min widths)))))))

;;; Which buffer

(defun smith-chat-get (session)
  "Return the chat buffer of SESSION, nil if it has none."
  (seq-find (lambda (buffer)
              (eq session (buffer-local-value 'smith-chat-session buffer)))
            (buffer-list)))

(defun smith-chat-buffer (session)
  "Return the chat buffer of SESSION, made if there is none."
  (or (smith-chat-get session) (smith-chat--make session)))

(defun smith-chat--make (session)
  "Return a new chat buffer for SESSION."
  (let* ((root (smith-session-root session))
         (name (file-name-nondirectory (directory-file-name root))))
    (with-current-buffer (generate-new-buffer (format "*smith: %s*" name))
      (setq default-directory root)
      (smith-chat-mode)
      (setq smith-chat-session session)
      (unless (memq #'smith-chat--follow (smith-session-listeners session))
        (smith-session-listen session #'smith-chat--follow))
      (smith-input-learn (smith-session-talk session))
      ;; First what keeps the drawn part and the typed one apart.
      (smith-chat--draw-footer)
      (smith-chat--draw)
      (goto-char (point-max))
      (current-buffer))))

(defun smith-chat-show (buffer)
  "Show the chat BUFFER without going there."
  (display-buffer buffer smith-display-action)
  (with-current-buffer buffer
    (smith-chat--fit)))

(defun smith-chat-open (session)
  "Show the chat of SESSION and go to it."
  (let ((buffer (smith-chat-buffer session)))
    (pop-to-buffer buffer smith-display-action)
    (smith-chat--fit)
    buffer))

;;; What changes

(defun smith-chat--follow (session _event changed)
  "Draw what has CHANGED in SESSION; nil is anything."
  (let ((buffer (smith-chat-get session)))
    (when buffer
      (with-current-buffer buffer
        (smith-chat--note changed)
        (smith-chat-refresh)
        (when changed
          (smith-chat--call-attention changed)
          (smith-chat--give-back (smith-changed-returned changed)))))))

(defun smith-chat--note (changed)
  "Note in this buffer what has CHANGED; nil is anything."
  (let ((talk (smith-session-talk smith-chat-session)))
    (cond
     ((or (not changed) (not (eq talk smith-chat--talk)))
      (unless changed
        (smith-input-learn talk))
      (setq smith-chat--stale t))
     ((eq talk (smith-changed-talk changed))
      (dolist (part (smith-changed-parts changed))
        (unless (memq part smith-chat--changed)
          (push part smith-chat--changed)))
      (setq smith-chat--removed (append (smith-changed-removed changed)
                                        smith-chat--removed))))))

(defun smith-chat-refresh ()
  "Draw what is not drawn yet: now, or as soon as Emacs is ready for it."
  (unless smith-chat--waits
    (unless (smith-chat--try)
      (setq smith-chat--waits t)
      (let ((buffer (current-buffer)))
        (smith-ready-retry
         (lambda ()
           (or (not (buffer-live-p buffer))
               (with-current-buffer buffer
                 (when (smith-chat--try)
                   (setq smith-chat--waits nil)
                   t)))))))))

(defun smith-chat--try ()
  "Draw what is not drawn yet; return nil if that may not be now."
  (unless (smith-chat--in-use-p)
    (smith-chat--draw)
    t))

(defun smith-chat--in-use-p ()
  "Return non-nil if a command is half typed that remembers places of this buffer."
  (or (bound-and-true-p isearch-mode)
      (bound-and-true-p rectangle-mark-mode)
      (and (memq (current-buffer)
                 (list (window-buffer) (and (minibuffer-selected-window)
                                            (window-buffer (minibuffer-selected-window)))))
           (smith-ready-busy))))

(defun smith-chat--draw ()
  "Draw what is not drawn yet."
  (let ((talk (smith-session-talk smith-chat-session))
        (moved nil))
    (smith-chat--fit)
    (if (not smith-chat--stale)
        (smith-block-update (reverse smith-chat--changed) smith-chat--removed)
      (setq moved (not (eq talk smith-chat--talk)))
      (smith-block-reset (and talk (reverse (smith-talk-parts talk)))))
    (setq smith-chat--talk talk
          smith-chat--changed nil
          smith-chat--removed nil
          smith-chat--stale nil)
    (smith-chat--draw-footer)
    (when moved
      (smith-chat--go-to-end))
    (force-mode-line-update)))

(defun smith-chat--go-to-end ()
  "Let all windows look at what is typed; those that do stay where they are."
  (unless (smith-input-at-point-p)
    (goto-char (point-max)))
  (dolist (window (get-buffer-window-list nil nil t))
    (when (< (window-point window) smith-input-start)
      (set-window-point window (point-max)))))

(defun smith-chat-prepend (parts removed)
  "Draw PARTS, which are older, above all others; take REMOVED away."
  (smith-block-prepend parts removed))

;;; Between what was said and what is typed

(defun smith-chat--footer ()
  "Return what stands above what is typed."
  (let ((queue (and smith-chat--talk (smith-talk-queue smith-chat--talk))))
    (concat
     (if (= smith-block-end (point-min))
         (smith-chat--intro)
       (mapconcat (lambda (waiting)
                    (propertize (format "\n  waits: %s"
                                        (smith-label-cut
                                         (smith-label-first-line (cdr waiting)) 70))
                                'face 'smith-detail))
                  queue ""))
     (propertize "\n" 'face 'smith-rule)
     (if smith-chat-context
         (propertize (format "  with %s\n" (plist-get smith-chat-context :label))
                     'face 'smith-detail)
       ""))))

(defun smith-chat--intro ()
  "Return the words in an empty chat."
  (propertize
   (substitute-command-keys
    (format "smith in %s\n\\<smith-chat-mode-map>\
\\[smith-return] sends · \\[newline] new line · \\[smith-cancel] stops · \
\\[describe-mode] shows the keys\n"
            (abbreviate-file-name (smith-session-root smith-chat-session))))
   'face 'smith-detail))

(defun smith-chat--draw-footer ()
  "Draw what stands above what is typed, if it is another than before."
  (let ((footer (smith-chat--footer)))
    (unless (equal-including-properties footer smith-chat--footer)
      (setq smith-chat--footer (copy-sequence footer))
      (add-text-properties 0 (length footer)
                           '(read-only t front-sticky (read-only)) footer)
      (put-text-property (1- (length footer)) (length footer) 'rear-nonsticky t footer)
      (smith-block-quietly
        ;; The new one comes before the old one goes: no place below it moves.
        (let ((first (= smith-block-end smith-input-start)))
          (goto-char smith-block-end)
          (insert footer)
          (if first
              (set-marker smith-input-start (point))
            (delete-region (point) smith-input-start)))))))

;;; The person's attention

(defun smith-chat--call-attention (changed)
  "Point in the echo area at new questions in CHANGED that nobody can see."
  (dolist (part (smith-changed-parts changed))
    (when (and (smith-part-question-p part)
               (not (smith-part-question-decision part))
               (not (smith-part-question-told part)))
      (setf (smith-part-question-told part) t)
      (unless (get-buffer-window nil 'visible)
        (message "smith: may I run %s? M-x smith-yes, smith-no or smith-always; \
M-x smith shows it"
                 (smith-label-call (smith-part-question-name part)
                                   (smith-part-question-title part) ""))))))

(defun smith-chat--give-back (prompt)
  "Offer PROMPT, which will not run, to be sent again."
  (when prompt
    (let ((buffer (current-buffer)))
      (smith-ready-retry
       (lambda ()
         (or (not (buffer-live-p buffer))
             (with-current-buffer buffer
               (unless (smith-chat--in-use-p)
                 (smith-input-offer prompt)
                 t))))))))

(provide 'smith-chat)
;;; smith-chat.el ends here
