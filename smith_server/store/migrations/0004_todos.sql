-- job is '' for the plan of the conversation itself, else the child whose plan it is.
CREATE TABLE todo (
  conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
  job TEXT NOT NULL DEFAULT '',
  n INTEGER NOT NULL,
  content TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
  PRIMARY KEY (conversation, job, n)
) WITHOUT ROWID;
