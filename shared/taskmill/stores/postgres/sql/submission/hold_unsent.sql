-- Hold the head of the queue. It is found by a flag and not by the last number seen, because a
-- smaller number may be committed later. Rows held by another relay are skipped.
SELECT
    id,
    envelope::text AS envelope
FROM outbox
WHERE published_at IS NULL AND parked_reason IS NULL
ORDER BY id
LIMIT %(most)s
FOR UPDATE SKIP LOCKED;
