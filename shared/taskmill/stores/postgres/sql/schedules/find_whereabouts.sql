-- Find where the tasks of fires are: still enqueued, in the ledger, ended, or unknown.
SELECT
    asked.id::text AS id,
    CASE
        WHEN request.is_waiting THEN 'enqueued'
        WHEN tasks.status IN ('succeeded', 'dead', 'cancelled') THEN 'over'
        WHEN tasks.id IS NOT NULL THEN 'living'
        WHEN NOT request.is_waiting THEN 'over'
        ELSE 'unknown'
    END AS whereabouts
FROM unnest(%(tasks)s::uuid []) AS asked (id)
LEFT JOIN tasks ON asked.id = tasks.id
LEFT JOIN LATERAL (
    SELECT parked_at IS NULL AS is_waiting
    FROM enqueued
    WHERE task_id = asked.id AND done_at IS NULL
    ORDER BY parked_at IS NULL DESC, id DESC
    LIMIT 1
) AS request ON TRUE;
