-- cost is in US dollars, of all but the unpriced requests. What earlier ones cost nobody wrote down.
ALTER TABLE usage ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
UPDATE usage SET unpriced = requests;
