-- Record the latest start times of those of these tasks that still wait.
INSERT INTO expiries (task_id, expires_at_ms)
SELECT
    id,
    (timing ->> 'expires_at_ms')::bigint
FROM tasks
WHERE
    id = ANY(%(ids)s::uuid [])
    AND started_at IS NULL
    AND finished_at IS NULL
    AND timing ->> 'expires_at_ms' IS NOT NULL
ORDER BY id
ON CONFLICT (task_id) DO UPDATE SET expires_at_ms = excluded.expires_at_ms;
