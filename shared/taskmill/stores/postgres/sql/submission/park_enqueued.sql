-- Park a request that can never become a task, with the reason.
UPDATE enqueued
SET
    parked_at = now(),
    parked_reason = %(reason)s,
    parked_detail = %(detail)s,
    parked_pointer = %(pointer)s
WHERE id = %(id)s AND done_at IS NULL;
