-- How unfinished tasks are found without an index on what changes. May run at any time before the
-- code.

-- Windows over the age of tasks; it never changes, so rows are still updated in place.
CREATE INDEX tasks_by_age ON tasks (created_at);

-- Tasks that were unfinished when the window passed over their age, and those that came late; they
-- leave some time after their end.
CREATE TABLE unfinished (
    task_id uuid PRIMARY KEY
);

-- How far a window has come.
CREATE TABLE windows (
    name text PRIMARY KEY,
    until timestamptz NOT NULL
);

INSERT INTO unfinished (task_id)
SELECT id FROM tasks
WHERE finished_at IS NULL;
INSERT INTO windows (name, until) VALUES ('unfinished', now());

GRANT SELECT, INSERT, DELETE ON unfinished TO taskmill_app;
GRANT SELECT, UPDATE ON windows TO taskmill_app;
