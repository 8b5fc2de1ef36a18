-- Read tasks that only the ledger keeps and whose time comes near, earliest first, after a
-- position.
SELECT task.*
FROM far_tasks AS far
INNER JOIN whole_tasks AS task ON far.task_id = task.id
WHERE
    far.due_at < now() + %(ahead_seconds)s * '1 second'::interval
    AND (
        %(after_id)s::uuid IS NULL
        OR (far.due_at, far.task_id)
        > (to_timestamp(%(after_ms)s::double precision / 1000.0), %(after_id)s::uuid)
    )
ORDER BY far.due_at, far.task_id
LIMIT %(most)s;
