-- Read, of the tasks younger than the key window, those that belong in the hot state: unfinished
-- ones that are not far, recently finished ones, and those that a key still names.
SELECT task.*
FROM whole_tasks AS task
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
    AND task.created_at > now() - %(window_seconds)s * '1 second'::interval
    AND (
        task.finished_at IS NULL
        OR task.finished_at > now() - %(record_seconds)s * '1 second'::interval
        OR (
            task.idempotency_key IS NOT NULL
            AND task.submitted > (extract(EPOCH FROM now()) - %(window_seconds)s) * 1000
        )
    );
