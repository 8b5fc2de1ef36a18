-- Until when tasks must have begun that wait. May run at any time before the code. Of tasks from
-- before it only their workers see that they have expired.
CREATE TABLE expiries (
    task_id uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    expires_at_ms bigint NOT NULL
);
CREATE INDEX expiries_by_time ON expiries (expires_at_ms, task_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON expiries TO taskmill_app;
