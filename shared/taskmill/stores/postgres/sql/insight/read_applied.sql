-- Read how far each partition is applied.
SELECT
    topic,
    partition,
    position
FROM applied;
