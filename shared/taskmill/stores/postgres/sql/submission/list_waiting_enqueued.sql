-- Read waiting requests, latest first, after a position.
SELECT
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
    parked_pointer
FROM enqueued
WHERE
    done_at IS NULL
    AND parked_at IS NULL
    AND (%(before)s::bigint IS NULL OR id < %(before)s)
ORDER BY id DESC
LIMIT %(most)s;
