-- List tasks with facts but without a submission, although their generation began long ago.
SELECT tasks.id::text AS id
FROM tasks
WHERE
    tasks.submission IS NULL
    AND tasks.generation < extract(EPOCH FROM now()) * 1000 - %(age_ms)s
ORDER BY tasks.id
LIMIT %(most)s;
