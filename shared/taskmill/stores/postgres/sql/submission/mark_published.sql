-- Say that rows of the outbox stand in the log. Said twice, the first time stays.
UPDATE outbox
SET published_at = now()
WHERE id = ANY(%(ids)s) AND published_at IS NULL;
