-- Insert tasks that the log could not accept. A duplicate submission is stored once.
INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint)
SELECT
    told.task_id,
    told.submission,
    told.generation,
    told.envelope,
    told.fingerprint
FROM json_to_recordset(%(rows)s::json) AS told (
    task_id uuid,
    submission text,
    generation bigint,
    envelope json,
    fingerprint text
)
ORDER BY told.task_id
ON CONFLICT DO NOTHING;
