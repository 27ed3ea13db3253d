;;; smith-options.el --- Options and faces  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What a person can set, and how things look.  Knows nothing of the rest.
;;
;; Requires no other file of this package, and must not.

;;; Code:

(defgroup smith nil
  "A coding agent that edits your open buffers."
  :group 'tools
  :prefix "smith-")

(defcustom smith-command '("smith" "serve")
  "Program that is the server, and its arguments."
  :type '(repeat string))

(defcustom smith-init-options nil
  "Settings of the server for this Emacs alone, a plist of JSON values.
`:settings' are as in its files.  `:resume' is \"project\" to go on with the
last conversation of the project, \"never\", or the id of a
conversation, or the begin of it."
  :type '(plist :key-type symbol :value-type sexp))

(defcustom smith-display-action
  '((display-buffer-reuse-window display-buffer-in-direction)
    (direction . right)
    (window-width . 0.45))
  "Where a chat is shown; an action of `display-buffer'."
  :type 'sexp)

(defcustom smith-fold-calls t
  "Whether the output of tool calls and the thinking are folded."
  :type 'boolean)

(defface smith-added '((t :inherit success :weight normal)) "Lines that an edit adds.")
(defface smith-code '((t :inherit font-lock-constant-face)) "Code in a line.")
(defface smith-code-block
  '((((background dark)) :inherit fixed-pitch :background "#262626" :extend t)
    (t :inherit fixed-pitch :background "#eeeeee" :extend t))
  "Lines of code.")
(defface smith-detail '((t :inherit shadow)) "What matters less.")
(defface smith-failed '((t :inherit error)) "What went wrong.")
(defface smith-heading '((t :inherit font-lock-keyword-face :weight bold)) "Headings.")
(defface smith-hint '((t :inherit font-lock-doc-face)) "Keys that answer.")
(defface smith-hunk '((t :inherit font-lock-type-face)) "Beginning of a hunk.")
(defface smith-info '((t :inherit shadow)) "News.")
(defface smith-link '((t :inherit link)) "Links.")
(defface smith-list '((t :inherit font-lock-builtin-face)) "Signs of a list.")
(defface smith-ok '((t :inherit success)) "What went well.")
(defface smith-output '((t :inherit shadow)) "Output of a tool.")
(defface smith-prompt '((t :inherit font-lock-function-name-face :weight bold))
  "What the person said.")
(defface smith-question '((t :inherit warning)) "What the agent asks.")
(defface smith-quote '((t :inherit font-lock-comment-face)) "Quoted lines.")
(defface smith-removed '((t :inherit error :weight normal)) "Lines that an edit removes.")
(defface smith-rule '((t :inherit shadow :underline t :extend t))
  "The rule above what is typed.")
(defface smith-running '((t :inherit font-lock-type-face)) "What is going on.")
(defface smith-strong '((t :weight bold)) "Strong words.")
(defface smith-thinking '((t :inherit shadow :slant italic)) "What the model thought.")
(defface smith-tool '((t :inherit font-lock-function-name-face)) "Name of a tool.")
(defface smith-warning '((t :inherit warning)) "What to look at.")

(provide 'smith-options)
;;; smith-options.el ends here
