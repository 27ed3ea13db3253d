-- What is left out of the requests of a conversation, in the order in which it was decided; turn and
-- seq are the newest message of that moment.
CREATE TABLE compaction (
  n INTEGER PRIMARY KEY,
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  record BLOB NOT NULL,
  created REAL NOT NULL
);
CREATE INDEX compaction_of ON compaction (conversation, turn, seq);

-- A message that is changed or goes makes what was decided after it void.
CREATE TRIGGER compaction_gone AFTER DELETE ON message WHEN old.job = '' BEGIN
  DELETE FROM compaction WHERE conversation = old.conversation AND (turn, seq) >= (old.turn, old.seq);
END;
CREATE TRIGGER compaction_void AFTER UPDATE OF record ON message
  WHEN new.job = '' AND new.record IS NOT old.record BEGIN
  DELETE FROM compaction WHERE conversation = new.conversation AND (turn, seq) >= (new.turn, new.seq);
END;
