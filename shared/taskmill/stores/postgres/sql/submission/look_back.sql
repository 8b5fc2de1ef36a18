-- Return how far the ledger knows the log and, as of the same moment, which of these submissions it
-- has. A partition with nothing applied yet has none. "Recent" is by the clocks of PostgreSQL and
-- the log.
SELECT
    topic,
    partition,
    position,
    as_of > now() - %(seconds)s * '1 second'::interval AS is_recent,
    ARRAY(
        SELECT tasks.submission
        FROM unnest(%(ids)s::uuid [], %(submissions)s::text []) AS asked (task_id, submission)
        INNER JOIN tasks ON tasks.id = asked.task_id AND tasks.submission = asked.submission
    ) AS found
FROM applied;
