-- Record which of these tasks are dead now. Repeated, or with more known, it is the same letter.
INSERT INTO dead_letters AS known (
    task_id, tenant, type, generation, reason, error_class, first_failed_at, died_at
)
SELECT
    task.id,
    task.tenant,
    task.type,
    task.generation,
    task.reason,
    task.error_class,
    LEAST(failures.first_at, task.finished_at),
    task.finished_at
FROM tasks AS task
CROSS JOIN LATERAL (
    SELECT min(told.at) AS first_at
    FROM facts AS told
    WHERE
        told.task_id = task.id
        AND told.generation = task.generation
        AND told.kind IN ('TaskDeferred', 'AttemptLost', 'TaskDied')
        AND COALESCE(told.body ->> 'reason', '') NOT IN ('snoozed', 'stopped')
) AS failures
WHERE task.id = ANY(%(ids)s::uuid []) AND task.status = 'dead'
ORDER BY task.id
ON CONFLICT (task_id) DO UPDATE SET
    generation = excluded.generation,
    reason = excluded.reason,
    error_class = excluded.error_class,
    first_failed_at = excluded.first_failed_at,
    died_at = excluded.died_at
WHERE
    (known.generation, known.first_failed_at)
    IS DISTINCT FROM (excluded.generation, excluded.first_failed_at);
