-- List tasks that should have started by now, oldest expiry first, after a position. The comparison
-- uses values that are constant within a statement, in the type of the index.
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
