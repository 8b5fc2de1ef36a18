-- Tasks that wait for a time. May run at any time before the code.
ALTER TABLE tasks
ADD COLUMN timing json,
-- The turn from which on metadata and timing are so; 0 while no submission told them.
ADD COLUMN changed integer NOT NULL DEFAULT 0,
DROP CONSTRAINT retrying_has_a_time,
-- It allows more than the one before: no row needs to be looked at.
ADD CONSTRAINT the_waiting_have_a_time CHECK (
    (status IN ('retrying', 'scheduled')) = (due_at IS NOT NULL)
) NOT VALID;

-- What can be changed while a task waits is told by the latest turn that says something of it.
CREATE FUNCTION by_change(
    known_generation bigint,
    known_changed integer,
    known anyelement,
    told_generation bigint,
    told_changed integer,
    told anyelement
) RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE
    WHEN told_generation > known_generation THEN told
    WHEN told_generation = known_generation AND told_changed > known_changed THEN told
    ELSE known
END
$$;

-- Tasks that the ledger alone keeps until their time comes near. A table of its own, so that they
-- are found without an index on what changes in `tasks`.
CREATE TABLE far_tasks (
    task_id uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    generation bigint NOT NULL,
    turn integer NOT NULL,
    due_at timestamptz NOT NULL
);
CREATE INDEX far_tasks_by_time ON far_tasks (due_at, task_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON far_tasks TO taskmill_app;
