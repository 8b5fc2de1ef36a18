-- Read what was accepted and the log will never take, the eldest first.
SELECT
    task_id,
    parked_reason
FROM outbox
WHERE parked_reason IS NOT NULL
ORDER BY id
LIMIT %(most)s;
