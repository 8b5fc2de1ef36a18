-- Put a request aside that never becomes a task, and say why.
UPDATE enqueued
SET
    parked_at = now(),
    parked_reason = %(reason)s,
    parked_detail = %(detail)s,
    parked_pointer = %(pointer)s
WHERE id = %(id)s AND done_at IS NULL;
