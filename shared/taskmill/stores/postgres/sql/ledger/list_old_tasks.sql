-- Read, of the tasks that were unfinished when the window passed them, those that belong in the hot
-- state.
SELECT task.*
FROM unfinished
INNER JOIN whole_tasks AS task ON unfinished.task_id = task.id
WHERE
    (task.finished_at IS NOT NULL) = %(finished)s
    AND NOT EXISTS (
        SELECT 1
        FROM far_tasks AS far
        WHERE far.task_id = task.id AND task.status = 'scheduled'
    )
    AND NOT EXISTS (
        SELECT 1
        FROM shelved_tasks AS shelved
        WHERE
            shelved.task_id = task.id
            AND shelved.generation = task.generation
            AND task.status = 'queued'
    )
    AND (
        task.finished_at IS NULL
        OR task.finished_at > now() - %(record_seconds)s * '1 second'::interval
        OR (
            task.idempotency_key IS NOT NULL
            AND task.submitted > (extract(EPOCH FROM now()) - %(window_seconds)s) * 1000
        )
    );
