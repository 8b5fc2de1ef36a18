-- Check whether any request waits, ordered so that the queue's own index answers at once, whatever
-- the planner estimates.
SELECT id
FROM enqueued
WHERE done_at IS NULL AND parked_at IS NULL AND not_before <= now()
ORDER BY not_before, id
LIMIT 1;
