-- Read up to when the ledger is complete, by the partition that lags most. Rows that wait in the outbox
-- were accepted earlier, and so were those that have moved from there into the log since.
WITH shown AS (
    SELECT min(as_of) AS as_of
    FROM applied
    WHERE topic = ANY(%(feeds)s)
),

waiting AS (
    SELECT created_at
    FROM outbox
    WHERE published_at IS NULL AND parked_reason IS NULL
    ORDER BY id
    LIMIT 1
),

late AS (
    SELECT min(outbox.created_at) AS created_at
    FROM outbox
    INNER JOIN shown ON outbox.published_at >= shown.as_of
)

SELECT floor(extract(EPOCH FROM LEAST(shown.as_of, waiting.created_at, late.created_at)) * 1000)::bigint
    AS as_of_ms
FROM shown
CROSS JOIN late
LEFT JOIN waiting ON TRUE
WHERE shown.as_of IS NOT NULL;
