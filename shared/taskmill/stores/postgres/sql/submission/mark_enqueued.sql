-- Mark requests as tasks. Repeated, the first time stays.
UPDATE enqueued
SET done_at = now()
WHERE id = ANY(%(ids)s) AND done_at IS NULL AND parked_at IS NULL;
