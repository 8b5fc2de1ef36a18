-- Hold the head of the line. By its flag and not by the last number seen: a smaller number may be
-- committed later. What another relay holds is passed over.
SELECT
    id,
    envelope::text AS envelope
FROM outbox
WHERE published_at IS NULL AND parked_reason IS NULL
ORDER BY id
LIMIT %(most)s
FOR UPDATE SKIP LOCKED;
