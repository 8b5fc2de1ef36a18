-- List tasks that had to begin by now, the longest ones first, behind a place in their line.
-- Compared with what does not change within a statement, in the type of the index.
SELECT
    task_id::text AS id,
    expires_at_ms
FROM expiries
WHERE
    expires_at_ms < floor(extract(EPOCH FROM now()) * 1000)::bigint
    AND (
        %(after_id)s::uuid IS NULL
        OR (expires_at_ms, task_id) > (%(after_ms)s::bigint, %(after_id)s::uuid)
    )
ORDER BY expires_at_ms, task_id
LIMIT %(most)s;
