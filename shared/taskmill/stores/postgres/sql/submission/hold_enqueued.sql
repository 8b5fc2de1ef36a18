-- Hold the head of the queue, no more than is read at once. It is found by flags and not by the
-- last number seen, because a smaller number may be committed later. Rows held by another relay are
-- skipped.
WITH head AS (
    SELECT
        id,
        tenant,
        task_id,
        submission,
        request,
        -- A row that is huge even as stored need not be unpacked to see that.
        CASE
            WHEN pg_column_size(request) > %(largest)s THEN pg_column_size(request)
            ELSE octet_length(request::text)
        END AS octets,
        created_at,
        parked_at,
        parked_reason,
        parked_detail,
        parked_pointer,
        not_before
    FROM enqueued
    WHERE done_at IS NULL AND parked_at IS NULL AND not_before <= now()
    ORDER BY not_before, id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
),

measured AS (
    SELECT
        head.*,
        sum(octets) FILTER (WHERE octets <= %(largest)s) OVER (ORDER BY not_before, id) AS so_far
    FROM head
)

SELECT
    id,
    tenant,
    task_id,
    submission,
    CASE WHEN octets <= %(largest)s THEN request::text END AS request,
    octets,
    created_at,
    parked_at,
    parked_reason,
    parked_detail,
    parked_pointer,
    created_at < now() - %(old_seconds)s * '1 second'::interval AS may_be_forgotten
FROM measured
WHERE coalesce(so_far, 0) <= %(octets)s
ORDER BY not_before, id;
