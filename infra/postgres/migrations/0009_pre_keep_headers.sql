-- What was never a task is kept with its headers. May run at any time before the code.
ALTER TABLE quarantine ADD COLUMN headers json NOT NULL DEFAULT '{}';
