-- Append facts to the history. A duplicate is stored once.
INSERT INTO facts (task_id, generation, turn, kind, subject, at, body, type)
SELECT
    told.id,
    told.generation,
    told.turn,
    told.kind,
    told.subject,
    to_timestamp(told.at_ms / 1000.0),
    told.body,
    told.type
FROM json_to_recordset(%(history)s::json) AS told (
    id uuid,
    generation bigint,
    turn integer,
    kind text,
    subject text,
    at_ms double precision,
    body json,
    type text
)
ORDER BY told.id
ON CONFLICT DO NOTHING;
