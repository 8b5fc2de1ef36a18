-- How the facts of the last minute are found and told apart. May run at any time before the code.

-- Empty in what was written before.
ALTER TABLE facts ADD COLUMN type text;

-- Facts come nearly in the order of their time: a few bytes for each hundred pages find them, where
-- a tree would be written for each fact.
CREATE INDEX facts_by_time ON facts USING brin (at) WITH (pages_per_range = 16, autosummarize = on);
