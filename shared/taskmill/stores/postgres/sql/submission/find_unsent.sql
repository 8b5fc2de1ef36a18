-- Read an unpublished task: a waiting one before one that the log will never accept, an admitted
-- one before a deferred one.
SELECT
    envelope::text AS envelope,
    parked_reason
FROM outbox
WHERE task_id = %(id)s AND published_at IS NULL
ORDER BY parked_reason IS NOT NULL, generation = 0, generation DESC, id
LIMIT 1;
