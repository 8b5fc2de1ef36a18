-- Read a request for a task that is none yet: who waits comes before who was parked last.
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
    parked_pointer
FROM enqueued
WHERE task_id = %(id)s AND done_at IS NULL
ORDER BY parked_at DESC NULLS FIRST, id
LIMIT 1;
