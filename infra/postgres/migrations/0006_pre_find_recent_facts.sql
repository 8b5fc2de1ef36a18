-- How the facts of the last minute are found. May run at any time before the code.

-- Facts come nearly in the order of their time: a few bytes for each hundred pages find them, where
-- a tree would be written for each fact.
CREATE INDEX facts_by_time ON facts USING brin (at) WITH (pages_per_range = 16, autosummarize = on);
