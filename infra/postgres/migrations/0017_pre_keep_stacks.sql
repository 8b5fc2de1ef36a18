-- Where a worker's code raised, with each attempt and with the task's last failure; and when a task
-- began for the first time. May run at any time before the code.
ALTER TABLE tasks
ADD COLUMN stack text,
-- Empty for rows of older code: then `started_at` is the best that is known.
ADD COLUMN first_started_at timestamptz;

CREATE OR REPLACE VIEW attempts AS
SELECT
    task_id,
    generation,
    turn,
    (body ->> 'attempt')::integer AS attempt,
    (body ->> 'token')::bigint AS token,
    CASE kind
        WHEN 'AttemptLost' THEN 'lost'
        WHEN 'TaskDeferred' THEN 'deferred'
        WHEN 'TaskSucceeded' THEN 'succeeded'
        WHEN 'TaskDied' THEN 'died'
        WHEN 'TaskCancelled' THEN 'cancelled'
    END AS outcome,
    to_timestamp((body ->> 'started_at_ms')::bigint / 1000.0) AS started_at,
    at AS ended_at,
    body ->> 'reason' AS reason,
    body ->> 'error_class' AS error_class,
    body ->> 'error_message' AS error_message,
    body ->> 'stack' AS stack
FROM facts
WHERE kind IN ('AttemptLost', 'TaskDeferred', 'TaskSucceeded', 'TaskDied', 'TaskCancelled');
