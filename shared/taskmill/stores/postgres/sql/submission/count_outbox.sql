-- Count rows that wait for the log and rows it will never accept, up to the limit that matters.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM outbox
            WHERE published_at IS NULL AND parked_reason IS NULL
            LIMIT %(most)s
        ) AS line
    ) AS waiting,
    (
        SELECT count(*)
        FROM (SELECT 1 FROM outbox WHERE parked_reason IS NOT NULL LIMIT %(most)s) AS aside
    ) AS parked;
