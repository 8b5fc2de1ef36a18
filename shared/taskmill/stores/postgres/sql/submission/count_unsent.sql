-- Count unpublished rows, up to the limit that matters.
SELECT count(*) AS unsent
FROM (
    SELECT 1
    FROM outbox
    WHERE published_at IS NULL AND parked_reason IS NULL
    LIMIT %(most)s
) AS line;
