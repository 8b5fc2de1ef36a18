-- Read the task that is not published: one that waits comes before one that the log will never take,
-- what was admitted before what was deferred.
SELECT
    envelope::text AS envelope,
    parked_reason
FROM outbox
WHERE task_id = %(id)s AND published_at IS NULL
ORDER BY parked_reason IS NOT NULL, generation = 0, generation DESC, id
LIMIT 1;
