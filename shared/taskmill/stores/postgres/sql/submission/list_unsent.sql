-- Read the queue of unpublished rows, after a position.
SELECT
    id,
    envelope::text AS envelope
FROM outbox
WHERE published_at IS NULL AND parked_reason IS NULL AND id > %(after)s
ORDER BY id
LIMIT %(most)s;
