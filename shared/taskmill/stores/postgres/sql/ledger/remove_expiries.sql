-- Delete expiries that are still as they were read.
DELETE FROM expiries AS known
USING
    json_to_recordset(%(seen)s::json) AS seen (task_id uuid, expires_at_ms bigint)
WHERE known.task_id = seen.task_id AND known.expires_at_ms = seen.expires_at_ms;
