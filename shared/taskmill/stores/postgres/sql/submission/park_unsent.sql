-- Park an outbox row that the log will never accept, with the reason.
UPDATE outbox
SET parked_reason = %(reason)s
WHERE id = %(id)s AND published_at IS NULL;
