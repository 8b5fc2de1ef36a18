-- Read since when the first unpublished row has waited.
SELECT floor(extract(EPOCH FROM created_at) * 1000)::bigint AS since_ms
FROM outbox
WHERE published_at IS NULL AND parked_reason IS NULL
ORDER BY id
LIMIT 1;
