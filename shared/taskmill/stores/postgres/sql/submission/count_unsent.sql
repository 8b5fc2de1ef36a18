-- Count what still has to be published, no further than it matters.
SELECT count(*) AS unsent
FROM (
    SELECT 1
    FROM outbox
    WHERE published_at IS NULL AND parked_reason IS NULL
    LIMIT %(most)s
) AS line;
