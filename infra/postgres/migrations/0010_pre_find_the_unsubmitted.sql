-- How tasks are found of which the ledger has facts and no submission. May run at any time before
-- the code.

-- Neither column of it changes once a submission is there: rows are still updated in place.
CREATE INDEX tasks_unsubmitted ON tasks (id) WHERE submission IS NULL;
