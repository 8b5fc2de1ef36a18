-- Hold parcels that a newer version wrote and that can be read by now. What another one holds is
-- passed over.
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
