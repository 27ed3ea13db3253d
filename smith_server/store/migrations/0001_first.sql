-- Text columns hold TEXT, or the same text as a BLOB where it is no valid Unicode (lone surrogates).
-- Order follows whole numbers (used, turn, seq, n), never the times, which are for people.

CREATE TABLE conversation (
  id TEXT PRIMARY KEY,
  root TEXT NOT NULL,
  project_id TEXT,
  title TEXT NOT NULL DEFAULT '',
  created REAL NOT NULL,
  updated REAL NOT NULL,
  used INTEGER NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0,
  model TEXT,
  role TEXT,
  mode TEXT
);
CREATE INDEX conversation_used ON conversation (used);
CREATE INDEX conversation_root ON conversation (root, used);

-- The conversation to go on with, per root. It may name one that has no row yet.
CREATE TABLE pointer (
  root TEXT PRIMARY KEY,
  conversation TEXT NOT NULL
);

CREATE TABLE turn (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  job TEXT NOT NULL DEFAULT '',
  turn INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'completed', 'cancelled', 'error', 'interrupted')),
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start TEXT NOT NULL,
  prompt TEXT NOT NULL,
  model TEXT NOT NULL DEFAULT '',
  provider TEXT NOT NULL DEFAULT '',
  started REAL NOT NULL,
  ended REAL,
  record BLOB,
  PRIMARY KEY (conversation, job, turn)
);
CREATE INDEX turn_open ON turn (conversation, job, turn) WHERE state = 'open';

-- job is '' for the conversation itself, else the child whose message it is.
CREATE TABLE message (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  job TEXT NOT NULL DEFAULT '',
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  record BLOB NOT NULL,
  created REAL NOT NULL,
  PRIMARY KEY (conversation, job, turn, seq)
);

-- Streamed text of messages that are not whole yet.
CREATE TABLE piece (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  job TEXT NOT NULL DEFAULT '',
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('text', 'thinking')),
  text TEXT NOT NULL,
  PRIMARY KEY (conversation, job, turn, seq, n)
) WITHOUT ROWID;

-- Prompts that wait for the running turn to end.
CREATE TABLE prompt (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  id TEXT NOT NULL,
  n INTEGER NOT NULL,
  text TEXT NOT NULL,
  record BLOB,
  created REAL NOT NULL,
  PRIMARY KEY (conversation, id)
);
CREATE INDEX prompt_order ON prompt (conversation, n);

-- tail is 'parent' or the id of a child.
CREATE TABLE usage (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  tail TEXT NOT NULL DEFAULT 'parent',
  role TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '',
  input INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  output INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  created REAL NOT NULL,
  PRIMARY KEY (conversation, turn, tail)
);

CREATE TABLE lease (
  conversation TEXT PRIMARY KEY REFERENCES conversation ON DELETE CASCADE,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start TEXT NOT NULL,
  face TEXT NOT NULL,
  token TEXT NOT NULL,
  taken REAL NOT NULL
);
