;;; smith-block.el --- The drawn part of a chat buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Keeps the upper part of a buffer equal to a list of parts and touches only
;; what changed: a part that grows gets what is new.  The text of a part has
;; the property `smith-part', by which it is found; nobody but this file can
;; change it.  Below it, from `smith-block-end' on, is the caller's.
;;
;; What is drawn is no matter of undo: the person's own undo skips it.
;;
;; Requires `smith-label', `smith-markdown', `smith-options', `smith-part' and
;; `smith-render' of this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'smith-label)
(require 'smith-markdown)
(require 'smith-options)
(require 'smith-part)
(require 'smith-render)

(defvar-local smith-block-end nil
  "Marker where the drawn part ends.")

(defvar-local smith-block-width 80
  "How many columns a line has.")

(defvar-local smith-block--drawn nil
  "What is drawn: a hash table from part to tail, or t.")

(defmacro smith-block-quietly (&rest body)
  "Evaluate BODY to change the text above what is typed.
Read-only text may be changed, and nothing of it is a matter of undo."
  (declare (indent 0) (debug t))
  (let ((size (make-symbol "size")))
    `(let ((,size (buffer-size))
           (inhibit-modification-hooks t)
           (inhibit-read-only t))
       (save-excursion
         (let ((buffer-undo-list t))
           ,@body))
       (smith-block--shift-undo (- (buffer-size) ,size))
       (restore-buffer-modified-p nil))))

(defun smith-block-start ()
  "Make this buffer, which is empty, one with a drawn part."
  (setq smith-block-end (copy-marker (point-min))
        smith-block--drawn (make-hash-table :test #'eq))
  (add-to-invisibility-spec '(smith-block . t)))

;;; Undo of what is typed below

(defun smith-block--shift-undo (shift)
  "Note in the undo list that all that was typed moved by SHIFT characters."
  (unless (or (zerop shift) (eq buffer-undo-list t))
    (let ((rest buffer-undo-list))
      (while rest
        (if (integerp (car rest))
            (cl-incf (car rest) shift)
          (smith-block--shift-entry (car rest) shift))
        (setq rest (cdr rest))))))

(defun smith-block--shift-entry (entry shift)
  "Move the positions in ENTRY of an undo list by SHIFT."
  (pcase entry
    (`(,(pred integerp) . ,(pred integerp))
     (cl-incf (car entry) shift)
     (cl-incf (cdr entry) shift))
    (`(,(pred stringp) . ,(and (pred integerp) place))
     (setcdr entry (if (< place 0) (- place shift) (+ place shift))))
    (`(nil ,_ ,_ . (,(pred integerp) . ,(pred integerp)))
     (let ((range (nthcdr 3 entry)))
       (cl-incf (car range) shift)
       (cl-incf (cdr range) shift)))
    (`(apply ,(pred integerp) ,(pred integerp) ,(pred integerp) . ,_)
     (cl-incf (nth 2 entry) shift)
     (cl-incf (nth 3 entry) shift))))

;;; Where a part is

(defun smith-block--find (part)
  "Return where the text of PART is, with the blank line before it: (BEG . END).
It is looked for from the end, where most that changes is."
  (let ((end (marker-position smith-block-end))
        (found nil))
    (while (and (not found) (> end (point-min)))
      (let ((beg (or (previous-single-property-change end 'smith-part) (point-min))))
        (when (eq (get-text-property beg 'smith-part) part)
          (setq found (cons beg end)))
        (setq end beg)))
    found))

(defun smith-block-at (position)
  "Return the part whose text is at POSITION, nil if there is none."
  (and (< position smith-block-end) (get-text-property position 'smith-part)))

(defun smith-block--before (position)
  "Return the part whose text ends at POSITION, nil if there is none."
  (and (> position (point-min)) (get-text-property (1- position) 'smith-part)))

(defun smith-block-place (part)
  "Return where the text of PART begins, nil if it is not drawn."
  (when (gethash part smith-block--drawn)
    (let ((beg (car (smith-block--find part))))
      (if (eq (char-after beg) ?\n) (1+ beg) beg))))

;;; Text of a part

(defun smith-block--owned (part text)
  "Return TEXT as part of the drawn text of PART."
  (add-text-properties 0 (length text)
                       (list 'smith-part part 'read-only t 'front-sticky '(read-only))
                       text)
  (when (smith-render-work-p part)
    (put-text-property 0 (length text) 'wrap-prefix smith-label-indent text))
  text)

(defun smith-block--insert (part)
  "Insert the whole text of PART at point, and what grows since."
  (let* ((gap (smith-render-gap (smith-block--before (point)) part))
         (body (smith-render-body part))
         (beg (+ (point) gap)))
    (puthash part (if body (smith-render-tail-new) t) smith-block--drawn)
    (insert (smith-block--owned
             part (concat (make-string gap ?\n) (smith-render part smith-block-width)
                          "\n")))
    (when body
      (smith-block--grow part body (point)))
    (smith-block--dress beg (point))
    (smith-block--fold beg (point) (not smith-fold-calls))))

(defun smith-block--grow (part body end)
  "Insert what is new of PART, which has BODY and ends at END; go to its end."
  (let* ((tail (gethash part smith-block--drawn))
         (text (if (smith-part-text-p part)
                   (smith-render-growth tail body)
                 (smith-render-indented-growth tail body))))
    (goto-char (1- end))
    (unless (string-empty-p text)
      (insert (smith-block--owned part text))
      (when (smith-part-text-p part)
        (smith-block--paint tail (- (point) (length text)))))
    (forward-char)))

(defun smith-block--paint (tail beg)
  "Give the text of TAIL that was inserted between BEG and point its faces.
The line that it goes on with is painted again."
  (let ((end (point)))
    (goto-char beg)
    (setf (smith-render-tail-fence tail)
          (smith-markdown-paint (line-beginning-position) end
                                (smith-render-tail-fence tail)))
    (goto-char end)))

(defun smith-block--dress (beg end)
  "Let what stands under a line between BEG and END be seen there."
  (let ((place (text-property-not-all beg end 'smith-below nil)))
    (when place
      (let ((line-end (next-single-property-change place 'smith-below nil end)))
        (put-text-property line-end (1+ line-end) 'display
                           (propertize (get-text-property place 'smith-below)
                                       'face 'smith-detail))))))

(defun smith-block--redraw (part)
  "Draw PART, which is drawn already, anew."
  (pcase-let* ((`(,beg . ,end) (smith-block--find part))
               (open (smith-block--open-p beg end)))
    (goto-char beg)
    (remove-overlays beg end 'smith-block t)
    (set-marker-insertion-type smith-block-end t)
    (delete-region beg end)
    (smith-block--insert part)
    (set-marker-insertion-type smith-block-end nil)
    (when open
      (remove-overlays beg (point) 'smith-block t))))

(defun smith-block--remove (part)
  "Take PART away."
  (when (gethash part smith-block--drawn)
    (pcase-let ((`(,beg . ,end) (smith-block--find part)))
      (remhash part smith-block--drawn)
      (remove-overlays beg end 'smith-block t)
      (delete-region beg end))))

(defun smith-block--append (part)
  "Insert PART behind all others."
  (goto-char smith-block-end)
  (set-marker-insertion-type smith-block-end t)
  (smith-block--insert part)
  (set-marker-insertion-type smith-block-end nil))

(defun smith-block--update (part)
  "Draw PART as it is now."
  (let ((drawn (gethash part smith-block--drawn))
        (body (smith-render-body part)))
    (cond
     ((not drawn)
      (smith-block--append part))
     ((and body (smith-render-tail-p drawn)
           (or (zerop (smith-render-tail-count drawn))
               (= (smith-render-tail-version drawn) (smith-body-version body))))
      (smith-block--grow part body (cdr (smith-block--find part))))
     (t
      (smith-block--redraw part)))))

;;; Places of the windows

(defun smith-block--points ()
  "Return where the windows look at drawn parts, as (WINDOW PART . OFFSET)."
  (delq nil (mapcar (lambda (window)
                      (let* ((point (window-point window))
                             (part (smith-block-at point)))
                        (when part
                          (cons window (cons part (- point (smith-block-place part)))))))
                    (get-buffer-window-list nil nil t))))

(defun smith-block--restore (points)
  "Let windows look at the same places of parts as in POINTS."
  (pcase-dolist (`(,window ,part . ,offset) points)
    (let ((place (smith-block-place part)))
      (when place
        (set-window-point window
                          (min (+ place offset) (1- (cdr (smith-block--find part)))))))))

;;; What others see

(defun smith-block-update (changed removed)
  "Draw CHANGED, parts in their order, new ones at the end; take REMOVED away."
  (let ((points (smith-block--points)))
    (smith-block-quietly
      (mapc #'smith-block--remove removed)
      (dolist (part changed)
        (unless (memq part removed)
          (smith-block--update part))))
    (smith-block--restore points)))

(defun smith-block-reset (parts)
  "Draw PARTS, oldest first, and nothing else."
  (smith-block-quietly
    (remove-overlays (point-min) smith-block-end 'smith-block t)
    (delete-region (point-min) smith-block-end)
    (clrhash smith-block--drawn)
    (mapc #'smith-block--append parts)))

(defun smith-block-prepend (parts removed)
  "Draw PARTS in front of all others, of which REMOVED are taken away."
  (let ((points (smith-block--points)))
    (smith-block-quietly
      (mapc #'smith-block--remove removed)
      (goto-char (point-min))
      (let ((first (smith-block-at (point))))
        (mapc #'smith-block--insert parts)
        (when first
          (smith-block--redraw first))))
    (smith-block--restore points)))

;;; Folds

(defun smith-block--body (beg end)
  "Return the place after BEG and before END where what can be folded begins."
  (text-property-not-all beg end 'smith-body nil))

(defun smith-block--folds (beg end)
  "Return the folds between BEG and END."
  (seq-filter (lambda (overlay) (overlay-get overlay 'smith-block))
              (overlays-in beg end)))

(defun smith-block--open-p (beg end)
  "Return non-nil if something from BEG to END could be folded and is not."
  (and (smith-block--body beg end) (not (smith-block--folds beg end))))

(defun smith-block--fold (beg end &optional open)
  "Fold what can be folded from BEG to END, unless it is to be OPEN."
  (let ((body (smith-block--body beg end)))
    (when (and body (not open))
      (let ((fold (make-overlay body (1- end) nil t)))
        (overlay-put fold 'smith-block t)
        (overlay-put fold 'evaporate t)
        (overlay-put fold 'invisible 'smith-block)
        (overlay-put fold 'isearch-open-invisible #'delete-overlay)))))

(defun smith-block-toggle (position)
  "Fold or open the part at POSITION; return nil if there is nothing to fold."
  (let ((part (smith-block-at position)))
    (when part
      (pcase-let ((`(,beg . ,end) (smith-block--find part)))
        (when (smith-block--body beg end)
          (if (smith-block--folds beg end)
              (remove-overlays beg end 'smith-block t)
            (smith-block--fold beg end)
            (goto-char (min position (smith-block--body beg end))))
          t)))))

(provide 'smith-block)
;;; smith-block.el ends here
