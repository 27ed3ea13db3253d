-- A message gets a number of its own: the key of its full text, and what a reader goes on from.
-- Inside a conversation later messages have higher numbers.
ALTER TABLE message RENAME TO message_before;
CREATE TABLE message (
  n INTEGER PRIMARY KEY,
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  job TEXT NOT NULL DEFAULT '',
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  record BLOB NOT NULL,
  created REAL NOT NULL,
  UNIQUE (conversation, job, turn, seq)
);
INSERT INTO message (n, conversation, job, turn, seq, kind, record, created)
  SELECT rowid, conversation, job, turn, seq, kind, record, created FROM message_before;
DROP TABLE message_before;

-- edition grows whenever a stored message is changed or goes, not when one is added.
ALTER TABLE conversation ADD COLUMN edition INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversation_project ON conversation (project_id, used) WHERE project_id IS NOT NULL;

-- The texts themselves stand in the messages and memories alone. scope says where a message was
-- said, as words: r and the root, p and the project, both as hexadecimal digits.
CREATE VIRTUAL TABLE message_search USING fts5 (
  text, scope, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
  DELETE FROM message_search WHERE rowid = old.n;
  UPDATE conversation SET edition = edition + 1, message_count = message_count - (old.job = '')
    WHERE id = old.conversation;
END;
CREATE TRIGGER message_changed AFTER UPDATE OF record ON message WHEN new.record IS NOT old.record BEGIN
  UPDATE conversation SET edition = edition + 1 WHERE id = new.conversation;
END;

-- What is known of the turn of a child: its place in the tree, and the order in which they began.
ALTER TABLE turn ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN call TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
UPDATE turn SET depth = 1 WHERE job <> '';
CREATE INDEX turn_place ON turn (conversation, turn, place) WHERE job <> '';

ALTER TABLE lease ADD COLUMN beat REAL NOT NULL DEFAULT 0;
UPDATE lease SET beat = taken;

CREATE INDEX usage_created ON usage (created);

CREATE TABLE note (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  PRIMARY KEY (conversation, id)
);

CREATE TABLE memory (
  n INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  UNIQUE (project, id)
);
CREATE VIRTUAL TABLE memory_search USING fts5 (
  id, text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER memory_gone AFTER DELETE ON memory BEGIN
  DELETE FROM memory_search WHERE rowid = old.n;
END;

CREATE TABLE config (
  key TEXT PRIMARY KEY,
  record BLOB NOT NULL
) WITHOUT ROWID;
