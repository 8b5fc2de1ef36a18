-- Count the facts of the last minute, by type and kind.
SELECT
    type,
    kind,
    count(*) AS facts
FROM facts
WHERE at > now() - '1 minute'::interval
GROUP BY type, kind;
