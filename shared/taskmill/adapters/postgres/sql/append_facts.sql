-- Append facts to the history. A fact told twice is stored once.
INSERT INTO facts (task_id, generation, turn, kind, subject, at, body)
SELECT
    told.id,
    told.generation,
    told.turn,
    told.kind,
    told.subject,
    to_timestamp(told.at_ms / 1000.0),
    told.body
FROM json_to_recordset(%(history)s::json) AS told (
    id uuid,
    generation bigint,
    turn integer,
    kind text,
    subject text,
    at_ms double precision,
    body json
)
ORDER BY told.id
ON CONFLICT DO NOTHING;
