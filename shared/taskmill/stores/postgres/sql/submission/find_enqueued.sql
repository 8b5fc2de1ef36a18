-- Read a request that has not become a task: a waiting one, otherwise the latest parked one.
SELECT
    id,
    tenant,
    task_id,
    submission,
    CASE WHEN octet_length(request::text) <= %(largest)s THEN request::text END AS request,
    octet_length(request::text) AS octets,
    created_at,
    parked_at,
    parked_reason,
    parked_detail,
    parked_pointer
FROM enqueued
WHERE task_id = %(id)s AND done_at IS NULL
ORDER BY parked_at DESC NULLS FIRST, id
LIMIT 1;
