-- Say that rows of the outbox stand in the log by now: not since the transaction began, in which they
-- were published. Said twice, the first time stays.
UPDATE outbox
SET published_at = clock_timestamp()
WHERE id = ANY(%(ids)s) AND published_at IS NULL;
