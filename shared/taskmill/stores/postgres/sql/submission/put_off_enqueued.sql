-- Skip requests for a while, so that the others flow.
UPDATE enqueued
SET not_before = now() + %(seconds)s * '1 second'::interval
WHERE id = ANY(%(ids)s) AND done_at IS NULL AND parked_at IS NULL;
