-- Mark the refused requests for a task as dealt with; the first author stays.
UPDATE enqueued
SET
    discarded_at = coalesce(discarded_at, to_timestamp(%(at_ms)s / 1000.0)),
    discarded_by = coalesce(discarded_by, %(by)s)
WHERE task_id = %(id)s AND done_at IS NULL AND parked_at IS NOT NULL
RETURNING
    id,
    tenant,
    task_id,
    submission,
    NULL AS request,
    octet_length(request::text) AS octets,
    created_at,
    parked_at,
    parked_reason,
    parked_detail,
    parked_pointer,
    discarded_at,
    discarded_by;
