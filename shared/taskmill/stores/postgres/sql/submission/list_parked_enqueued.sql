-- Read refused requests, either those dealt with or the others, latest first.
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
    parked_pointer,
    discarded_at,
    discarded_by
FROM enqueued
WHERE
    parked_at IS NOT NULL
    AND (discarded_at IS NOT NULL) = %(discarded)s
    AND (%(before)s::bigint IS NULL OR id < %(before)s)
ORDER BY id DESC
LIMIT %(most)s;
