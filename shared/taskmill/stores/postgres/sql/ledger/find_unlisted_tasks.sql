-- Read, of the given tasks, those that no list of the hot state needs to name: expired ended ones,
-- and far ones without a key.
SELECT task.*
FROM whole_tasks AS task
WHERE
    task.id = ANY(%(ids)s::uuid [])
    AND CASE
        WHEN task.finished_at IS NOT NULL
            THEN NOT (
                task.created_at > now() - %(window_seconds)s * '1 second'::interval
                AND (
                    task.finished_at > now() - %(record_seconds)s * '1 second'::interval
                    OR (
                        task.idempotency_key IS NOT NULL
                        AND task.submitted > (extract(EPOCH FROM now()) - %(window_seconds)s) * 1000
                    )
                )
            )
        WHEN task.idempotency_key IS NOT NULL THEN FALSE
        WHEN task.status = 'scheduled'
            THEN EXISTS (SELECT 1 FROM far_tasks AS far WHERE far.task_id = task.id)
        ELSE task.status = 'queued'
            AND EXISTS (
                SELECT 1
                FROM shelved_tasks AS shelved
                WHERE shelved.task_id = task.id AND shelved.generation = task.generation
            )
    END;
