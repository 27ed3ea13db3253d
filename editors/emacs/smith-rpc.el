;;; smith-rpc.el --- The connection to a server process  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One server process per project root, and jsonrpc.el over its pipes.  This
;; is the only file that knows the process.  It knows the wire, not what it
;; carries: who starts a connection says what to do with each method.
;;
;; Nothing here waits for the server.
;;
;; Requires `smith-json', `smith-options', `smith-protocol' and `smith-uri' of
;; this package, and must not require more.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'jsonrpc)
(require 'seq)
(require 'smith-json)
(require 'smith-options)
(require 'smith-protocol)
(require 'smith-uri)

(defconst smith-rpc--start-seconds 30
  "How long a server may take to answer `initialize'.")

(defconst smith-rpc--stop-seconds 5
  "How long a server may take to leave when it was asked to.")

(defconst smith-rpc--encoding "utf-32"
  "Unit of positions: the characters of a buffer.")

(cl-defstruct (smith-rpc (:constructor smith-rpc--make) (:copier nil))
  "A connection.
ROOT is the folder it serves.  STATE is `starting', `ready' or `ended'.
SERVE is an alist from a method to the function that takes its parameters and
gives its answer.  ON-READY and ON-END are called with the connection, the
latter with a reason too.  QUEUE holds what waits for the server to be ready,
newest first, as functions of one argument: nil, or why it will not be.
CAPABILITIES are those of the server.  FILTER takes in what was RECEIVED, unless
the connection is BUSY; what is HELD back is no whole piece yet."
  root serve on-ready on-end process wire queue capabilities
  (state 'starting) stopping reason filter (held "") received busy)

(cl-defstruct (smith-rpc-promise (:copier nil))
  "What a served function returns whose answer comes later; see `smith-rpc-resolve'."
  wire id)

(defclass smith-rpc--wire (jsonrpc-process-connection)
  ((owner :initarg :owner :documentation "Our own connection."))
  :documentation "A connection whose answers may come later.")

(defvar smith-rpc--connections nil
  "The connections that have not ended.")

;;; What others see

(cl-defun smith-rpc-start (root command &key serve on-ready on-end)
  "Start COMMAND in ROOT and return the connection to it.
COMMAND is a list of strings.  For SERVE, ON-READY and ON-END see the type
`smith-rpc'.  Signals an error if COMMAND cannot be run."
  (let ((self (smith-rpc--make :root (file-name-as-directory root) :serve serve
                               :on-ready on-ready :on-end on-end)))
    (setf (smith-rpc-process self) (smith-rpc--process self command)
          (smith-rpc-wire self) (smith-rpc--connect self)
          (smith-rpc-filter self) (process-filter (smith-rpc-process self)))
    (set-process-filter (smith-rpc-process self)
                        (lambda (_process string)
                          (smith-rpc--receive self string)))
    (push self smith-rpc--connections)
    (smith-rpc--initialize self)
    self))

(defun smith-rpc-connections ()
  "Return the connections whose server is ready."
  (seq-filter #'smith-rpc-ready-p smith-rpc--connections))

(defun smith-rpc-ready-p (self)
  "Return non-nil if the server of SELF is ready."
  (eq (smith-rpc-state self) 'ready))

(defun smith-rpc-supports-p (self command)
  "Return non-nil if the server of SELF has COMMAND."
  (seq-contains-p (plist-get (plist-get (smith-rpc-capabilities self)
                                        :executeCommandProvider)
                             :commands)
                  command))

(defun smith-rpc-notify (self method params)
  "Send the notification METHOD with PARAMS to the server of SELF.
Without a server that is ready this does nothing."
  (when (smith-rpc-ready-p self)
    (smith-rpc--try self (lambda ()
                           (jsonrpc-notify (smith-rpc-wire self) method params)))))

(defun smith-rpc-command (self command argument callback)
  "Run COMMAND of the server of SELF, now or as soon as it is ready.
ARGUMENT is a plist.  CALLBACK is always called, once, with the result, and
with a plist (:code :message :data) as second argument if there is an error."
  (smith-rpc--when-ready
   self
   (lambda (reason)
     (if reason
         (funcall callback nil (list :code -1 :message reason))
       (smith-rpc--request
        self 'workspace/executeCommand
        (list :command command
              :arguments (vector (or argument (make-hash-table))))
        callback)))))

(defun smith-rpc-stop (self)
  "Ask the server of SELF to leave; `on-end' is called when it has."
  (setf (smith-rpc-stopping self) t)
  (pcase (smith-rpc-state self)
    ('ready
     (smith-rpc--request self 'shutdown nil (lambda (&rest _)
                                              (smith-rpc-notify self 'exit nil)))
     (run-with-timer smith-rpc--stop-seconds nil #'smith-rpc--kill self))
    ('starting (smith-rpc--dismiss self))))

(defun smith-rpc-resolve (promise result)
  "Answer the request that PROMISE was returned for with RESULT."
  (let ((wire (smith-rpc-promise-wire promise)))
    (when (and wire (jsonrpc-running-p wire))
      (jsonrpc-connection-send wire :id (smith-rpc-promise-id promise)
                               :result result))))

;;; The process

(defun smith-rpc--process (self command)
  "Start COMMAND in the folder of SELF."
  (let ((default-directory (smith-rpc-root self)))
    (make-process :name "smith" :command command
                  :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                  :stderr (generate-new-buffer " *smith stderr*"))))

(defun smith-rpc--dismiss (self)
  "Tell the process of SELF to end, which it does in order."
  (when (process-live-p (smith-rpc-process self))
    (signal-process (smith-rpc-process self) 'SIGTERM)))

(defun smith-rpc--kill (self)
  "End the process of SELF if it is still there."
  (when (process-live-p (smith-rpc-process self))
    (delete-process (smith-rpc-process self))))

(defun smith-rpc--connect (self)
  "Return the jsonrpc.el connection of SELF."
  (apply #'make-instance 'smith-rpc--wire
         :name (format "smith %s" (smith-rpc-root self))
         :process (smith-rpc-process self)
         :owner self
         :request-dispatcher (lambda (_wire method params)
                               (smith-rpc--answer self method params))
         :notification-dispatcher (lambda (_wire method params)
                                    (smith-rpc--take self method params))
         :on-shutdown (lambda (_wire) (smith-rpc--ended self))
         ;; No log of what goes over the wire; the option has a newer name.
         (if (slot-exists-p 'smith-rpc--wire '-events-buffer-config)
             '(:events-buffer-config (:size 0))
           '(:events-buffer-scrollback-size 0))))

(cl-defmethod jsonrpc-connection-send :around ((wire smith-rpc--wire) &rest args)
  "Send ARGS over WIRE, unless they are an answer that comes later."
  (let ((result (plist-get args :result))
        (self (slot-value wire 'owner)))
    (cond
     ((smith-rpc-promise-p result)
      (setf (smith-rpc-promise-wire result) wire
            (smith-rpc-promise-id result) (plist-get args :id)))
     ((smith-rpc-busy self)
      (cl-call-next-method))
     (t
      (smith-rpc--alone self (lambda () (cl-call-next-method)))
      (smith-rpc--take-in self)))))

;; While a long message goes out Emacs calls process filters, and that of
;; jsonrpc.el mixes up what it has read when it is called within itself.

(defun smith-rpc--alone (self work)
  "Call WORK; what SELF receives meanwhile is taken in afterwards."
  (setf (smith-rpc-busy self) t)
  (unwind-protect
      (funcall work)
    (setf (smith-rpc-busy self) nil)))

(defun smith-rpc--receive (self string)
  "Take in STRING, which the server of SELF has sent, now or in a moment."
  (setf (smith-rpc-received self)
        (nconc (smith-rpc-received self) (list (smith-rpc--readable self string))))
  (smith-rpc--take-in self))

(defun smith-rpc--readable (self string)
  "Return what can be read now of what SELF held back and STRING."
  (let ((split (smith-json-readable (concat (smith-rpc-held self) string))))
    (setf (smith-rpc-held self) (cdr split))
    (car split)))

(defun smith-rpc--take-in (self)
  "Take in what SELF has received, unless that is being done."
  (while (and (smith-rpc-received self) (not (smith-rpc-busy self)))
    (smith-rpc--alone self
                      (lambda ()
                        (funcall (smith-rpc-filter self) (smith-rpc-process self)
                                 (pop (smith-rpc-received self)))))))

;;; Messages of the server

(defun smith-rpc--answer (self method params)
  "Return the answer of SELF to the request METHOD with PARAMS."
  (let ((serve (alist-get method (smith-rpc-serve self))))
    (unless serve
      (jsonrpc-error :code -32601 :message (format "no such method: %s" method)))
    (condition-case problem
        (funcall serve params)
      (jsonrpc-error (signal (car problem) (cdr problem)))
      (error
       (jsonrpc-error :code -32603 :message (error-message-string problem))))))

(defun smith-rpc--take (self method params)
  "Hand the notification METHOD with PARAMS to whoever serves it in SELF."
  (let ((serve (alist-get method (smith-rpc-serve self))))
    (when serve
      (smith-rpc--guarded serve params))))

(defun smith-rpc--guarded (function &rest args)
  "Call FUNCTION with ARGS; an error is shown and stops nothing else.
It would leave the process filter with half of its work undone."
  (condition-case problem
      (apply function args)
    (error
     (message "smith: %s" (error-message-string problem)))))

;;; Messages to the server

(defun smith-rpc--try (self send)
  "Call SEND and return non-nil, or nil if the process of SELF is gone."
  (condition-case problem
      (when (process-live-p (smith-rpc-process self))
        (funcall send)
        t)
    (error
     (when (process-live-p (smith-rpc-process self))
       (signal (car problem) (cdr problem))))))

(defun smith-rpc--request (self method params callback &optional seconds)
  "Send the request METHOD with PARAMS and return at once.
CALLBACK gets the result of SELF's server, or nil and an error, which comes
after SECONDS if given."
  (or (smith-rpc--try
       self
       (lambda ()
         (jsonrpc-async-request
          (smith-rpc-wire self) method params
          :timeout seconds
          :success-fn (lambda (result)
                        (smith-rpc--guarded callback result nil))
          :error-fn (lambda (problem)
                      (smith-rpc--guarded callback nil
                                          (smith-rpc--told self problem)))
          :timeout-fn (lambda ()
                        (smith-rpc--guarded callback nil
                                            (smith-rpc--silent method))))))
      (funcall callback nil (smith-rpc--told self nil))))

(defun smith-rpc--silent (method)
  "Return the error that a server did not answer METHOD in time."
  (list :code -1 :message (format "the server did not answer %s" method)))

(defun smith-rpc--when-ready (self action)
  "Call ACTION with nil when the server of SELF is ready, with a reason if never."
  (pcase (smith-rpc-state self)
    ('ready (funcall action nil))
    ('starting (push action (smith-rpc-queue self)))
    ('ended (funcall action (smith-rpc-reason self)))))

(defun smith-rpc--told (self problem)
  "Return PROBLEM of a request of SELF, or why it was never answered."
  (if (process-live-p (smith-rpc-process self))
      problem
    (list :code -1 :message (smith-rpc--how-it-ended (smith-rpc-process self)))))

;;; From the first message to the last

(defun smith-rpc-now ()
  "Return the time in Unix milliseconds."
  (truncate (* 1000 (float-time))))

(defun smith-rpc--initialize (self)
  "Tell the server of SELF who is there."
  (let ((uri (smith-uri-of (directory-file-name (smith-rpc-root self))))
        (now (smith-rpc-now)))
    (smith-rpc--request
     self 'initialize
     (list :processId (emacs-pid)
           :clientInfo (list :name "Emacs" :version emacs-version)
           :rootUri uri
           :workspaceFolders
           (vector (list :uri uri :name (file-name-nondirectory
                                         (directory-file-name
                                          (smith-rpc-root self)))))
           :initializationOptions (append smith-init-options (list :now now))
           :capabilities
           (list :general (list :positionEncodings (vector smith-rpc--encoding))
                 :experimental
                 (list :smith (list :protocol smith-protocol-version
                                    :events t :applyEdit t
                                    :review :json-false :now now))))
     (lambda (result problem) (smith-rpc--initialized self result problem))
     smith-rpc--start-seconds)))

(defun smith-rpc--unfit (result problem)
  "Return why a server cannot be used, from RESULT and PROBLEM of `initialize'."
  (let ((capabilities (plist-get result :capabilities)))
    (cond
     (problem (plist-get problem :message))
     ((not (equal (plist-get capabilities :positionEncoding) smith-rpc--encoding))
      "the server cannot count in characters; update it")
     ((not (plist-get (plist-get capabilities :experimental) :smith))
      "the server does not speak the protocol of smith; see `smith-command'"))))

(defun smith-rpc--initialized (self result problem)
  "Take in RESULT or PROBLEM of the first request of SELF."
  (let ((unfit (smith-rpc--unfit result problem)))
    (cond
     ((not (and (eq (smith-rpc-state self) 'starting)
                (process-live-p (smith-rpc-process self)))))
     (unfit
      (setf (smith-rpc-reason self) unfit)
      (smith-rpc--dismiss self))
     (t
      (setf (smith-rpc-capabilities self) (plist-get result :capabilities)
            (smith-rpc-state self) 'ready)
      (smith-rpc-notify self 'initialized (make-hash-table))
      (when (smith-rpc-on-ready self)
        (smith-rpc--guarded (smith-rpc-on-ready self) self))
      (smith-rpc--run-queue self nil)))))

(defun smith-rpc--run-queue (self reason)
  "Call what waits in SELF, oldest first, with REASON."
  (let ((queue (nreverse (smith-rpc-queue self))))
    (setf (smith-rpc-queue self) nil)
    (dolist (action queue)
      (smith-rpc--guarded action reason))))

(defun smith-rpc--how-it-ended (process)
  "Return in words how PROCESS ended."
  (if (eq (process-status process) 'signal)
      (format "the server was ended by signal %d" (process-exit-status process))
    (format "the server ended with exit code %d" (process-exit-status process))))

(defun smith-rpc--ended (self)
  "Take in that the process of SELF is gone."
  (unless (eq (smith-rpc-state self) 'ended)
    (setf (smith-rpc-state self) 'ended)
    (unless (smith-rpc-reason self)
      (setf (smith-rpc-reason self)
            (smith-rpc--how-it-ended (smith-rpc-process self))))
    (setq smith-rpc--connections (delq self smith-rpc--connections))
    (smith-rpc--run-queue self (smith-rpc-reason self))
    (smith-rpc--tidy self)
    (when (smith-rpc-on-end self)
      (smith-rpc--guarded (smith-rpc-on-end self) self (smith-rpc-reason self)))))

(defun smith-rpc--tidy (self)
  "Remove the buffers of jsonrpc.el for SELF."
  (let ((wire (smith-rpc-wire self)))
    (dolist (buffer (list (process-buffer (smith-rpc-process self))
                          (jsonrpc-events-buffer wire)
                          (jsonrpc-stderr-buffer wire)))
      (when (buffer-live-p buffer)
        (kill-buffer buffer)))))

(provide 'smith-rpc)
;;; smith-rpc.el ends here
