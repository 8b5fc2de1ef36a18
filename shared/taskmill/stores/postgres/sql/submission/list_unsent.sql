-- Read the line of what still has to be published, behind a place in it.
SELECT
    id,
    envelope::text AS envelope
FROM outbox
WHERE published_at IS NULL AND parked_reason IS NULL AND id > %(after)s
ORDER BY id
LIMIT %(most)s;
