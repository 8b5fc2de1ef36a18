-- Look whether any request waits. By order, so that the line's own index answers at once, whatever
-- the planner believes of the table.
SELECT id
FROM enqueued
WHERE done_at IS NULL AND parked_at IS NULL AND not_before <= now()
ORDER BY not_before, id
LIMIT 1;
