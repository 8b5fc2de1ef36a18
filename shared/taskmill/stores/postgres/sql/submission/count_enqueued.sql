-- Count waiting and parked requests up to the limit that matters, and return the oldest waiting
-- one.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM enqueued
            WHERE done_at IS NULL AND parked_at IS NULL
            LIMIT %(most)s
        ) AS line
    ) AS waiting,
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM enqueued
            WHERE parked_at IS NOT NULL AND discarded_at IS NULL
            LIMIT %(most)s
        ) AS aside
    ) AS parked,
    (
        SELECT min(created_at)
        FROM (
            SELECT created_at FROM enqueued
            WHERE done_at IS NULL AND parked_at IS NULL
            ORDER BY not_before, id
            LIMIT %(most)s
        ) AS line
    ) AS oldest_at;
