-- Read how far each partition is applied, and the moment of the log that this shows.
SELECT
    topic,
    partition,
    position,
    round(extract(EPOCH FROM as_of) * 1000)::bigint AS as_of_ms
FROM applied;
