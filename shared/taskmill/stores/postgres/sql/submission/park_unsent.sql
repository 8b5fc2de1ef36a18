-- Put a row of the outbox aside that the log will never take, and say why.
UPDATE outbox
SET parked_reason = %(reason)s
WHERE id = %(id)s AND published_at IS NULL;
