-- Read the latest part of a task's history.
SELECT
    task_id::text AS id,
    generation,
    turn,
    kind,
    subject,
    round(extract(EPOCH FROM at) * 1000)::bigint AS at_ms,
    body::text AS body
FROM facts
WHERE task_id = %(id)s
ORDER BY generation DESC, turn DESC, at DESC
LIMIT %(limit)s;
