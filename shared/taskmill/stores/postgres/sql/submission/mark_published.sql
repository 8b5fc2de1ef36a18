-- Mark outbox rows as published now: the transaction that published them began earlier. When repeated,
-- the first time stays.
UPDATE outbox
SET published_at = clock_timestamp()
WHERE id = ANY(%(ids)s) AND published_at IS NULL;
