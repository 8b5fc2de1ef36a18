-- Read accepted tasks that the log will never accept, oldest first.
SELECT
    task_id,
    parked_reason
FROM outbox
WHERE parked_reason IS NOT NULL
ORDER BY id
LIMIT %(most)s;
