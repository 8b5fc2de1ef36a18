-- Read the versions of the tasks that were unfinished when the window passed them, in the order of
-- their ids.
SELECT
    tasks.id::text AS id,
    tasks.type,
    tasks.status,
    tasks.generation,
    tasks.turn,
    round(extract(EPOCH FROM tasks.due_at) * 1000)::bigint AS due_at_ms,
    round(extract(EPOCH FROM tasks.finished_at) * 1000)::bigint AS finished_at_ms,
    EXISTS (
        SELECT 1
        FROM shelved_tasks AS shelved
        WHERE shelved.task_id = tasks.id AND shelved.generation = tasks.generation
    ) AS is_shelved
FROM unfinished
INNER JOIN tasks ON unfinished.task_id = tasks.id
WHERE
    tasks.submission IS NOT NULL
    AND (%(after)s::uuid IS NULL OR unfinished.task_id > %(after)s::uuid)
ORDER BY unfinished.task_id
LIMIT %(most)s;
