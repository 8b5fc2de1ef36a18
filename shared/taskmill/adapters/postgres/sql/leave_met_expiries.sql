-- Forget the expiries that were kept, and those of tasks that have ended.
DELETE FROM expiries AS met
USING tasks AS task
WHERE
    met.expires_at_ms < extract(EPOCH FROM clock_timestamp()) * 1000
    AND task.id = met.task_id
    AND (task.started_at IS NOT NULL OR task.finished_at IS NOT NULL);
