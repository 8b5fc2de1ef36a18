-- Tasks that wait in the ledger only, because their lines in Redis are full. A table of its own, so
-- that nothing is searched in `tasks`. May run at any time before the code.
CREATE TABLE shelved_tasks (
    task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    generation bigint NOT NULL,
    line text NOT NULL,
    line_order bigint NOT NULL,
    -- Whether its record in Redis has not been ended yet.
    has_record boolean NOT NULL DEFAULT TRUE,
    PRIMARY KEY (task_id, generation)
);
CREATE INDEX shelved_tasks_by_line ON shelved_tasks (line, line_order, task_id);
CREATE INDEX shelved_tasks_with_records ON shelved_tasks (task_id) WHERE has_record;

GRANT SELECT, INSERT, UPDATE, DELETE ON shelved_tasks TO taskmill_app;
