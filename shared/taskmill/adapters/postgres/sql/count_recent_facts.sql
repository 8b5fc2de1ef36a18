-- Count the facts of the last minute, by kind.
SELECT
    kind,
    count(*) AS facts
FROM facts
WHERE at > now() - '1 minute'::interval
GROUP BY kind;
