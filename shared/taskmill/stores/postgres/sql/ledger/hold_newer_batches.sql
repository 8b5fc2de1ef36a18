-- Hold batches from a newer version that can be decoded by now, skipping those held by others.
SELECT
    topic,
    partition,
    "offset",
    member,
    value
FROM quarantine
WHERE version <= %(readable)s AND discarded_at IS NULL
ORDER BY at
LIMIT %(most)s
FOR UPDATE SKIP LOCKED;
