-- Requeue recently parked requests whose type was not deployed then.
WITH taken_up AS (
    UPDATE enqueued
    SET
        parked_at = NULL,
        parked_reason = NULL,
        parked_detail = NULL,
        parked_pointer = NULL
    WHERE
        parked_at > now() - %(seconds)s * '1 second'::interval
        AND discarded_at IS NULL
        -- In this order: whether other requests can be parsed is unknown.
        AND CASE WHEN parked_reason = 'unknown_type' THEN request ->> 'type' END = ANY(%(types)s)
    RETURNING 1
)

SELECT count(*) AS taken_up FROM taken_up;
