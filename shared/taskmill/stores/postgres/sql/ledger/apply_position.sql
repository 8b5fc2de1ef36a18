-- Record how far a partition is applied: the end of the gapless prefix, never lowered.
INSERT INTO applied AS known (topic, partition, position, as_of)
VALUES (
    %(topic)s,
    %(partition)s,
    %(next)s,
    to_timestamp(%(as_of_ms)s / 1000.0)
)
ON CONFLICT (topic, partition) DO UPDATE SET
    position = excluded.position,
    as_of = GREATEST(known.as_of, excluded.as_of)
WHERE known.position BETWEEN %(first)s AND excluded.position - 1;
