-- Read the versions of these tasks.
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
FROM tasks
WHERE tasks.submission IS NOT NULL AND tasks.id = ANY(%(ids)s::uuid []);
