-- Hold the head of the line. By its flags and not by the last number seen: a smaller number may be
-- committed later. What another relay holds is passed over.
SELECT
    id,
    tenant,
    task_id,
    submission,
    request::text AS request,
    created_at,
    parked_at,
    parked_reason,
    parked_detail,
    parked_pointer,
    created_at < now() - %(old_seconds)s * '1 second'::interval AS may_be_forgotten
FROM enqueued
WHERE done_at IS NULL AND parked_at IS NULL AND not_before <= now()
ORDER BY not_before, id
LIMIT %(most)s
FOR UPDATE SKIP LOCKED;
