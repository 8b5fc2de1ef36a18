-- Record which tasks only the ledger keeps because their lines are full.
INSERT INTO shelved_tasks (task_id, generation, line, line_order)
SELECT
    told.task_id,
    told.generation,
    told.line,
    told.line_order
FROM
    json_to_recordset(%(places)s::json) AS told (
        task_id uuid, generation bigint, line text, line_order bigint
    )
ORDER BY told.task_id, told.generation
ON CONFLICT DO NOTHING;
