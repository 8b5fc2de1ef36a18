-- Delete the expiries of started tasks, and those of ended ones. The comparison uses values that
-- are constant within a statement, in the type of the index.
DELETE FROM expiries AS met
USING tasks AS task
WHERE
    met.expires_at_ms < floor(extract(EPOCH FROM now()) * 1000)::bigint
    AND task.id = met.task_id
    AND (task.started_at IS NOT NULL OR task.finished_at IS NOT NULL);
