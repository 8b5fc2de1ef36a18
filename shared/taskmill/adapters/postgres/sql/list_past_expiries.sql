-- List tasks that had to begin by now, the longest ones first, behind a place in their line.
SELECT
    task_id::text AS id,
    expires_at_ms
FROM expiries
WHERE
    expires_at_ms < extract(EPOCH FROM clock_timestamp()) * 1000
    AND (
        %(after_id)s::uuid IS NULL
        OR (expires_at_ms, task_id) > (%(after_ms)s::bigint, %(after_id)s::uuid)
    )
ORDER BY expires_at_ms, task_id
LIMIT %(most)s;
