-- Remove tasks from the far ones, if they are still as they were read, and note them as unfinished.
WITH gone AS (
    DELETE FROM far_tasks AS far
    USING
        json_to_recordset(%(seen)s::json) AS seen (task_id uuid, generation bigint, turn integer)
    WHERE
        far.task_id = seen.task_id
        AND (far.generation, far.turn) <= (seen.generation, seen.turn)
    RETURNING far.task_id
)

INSERT INTO unfinished (task_id)
SELECT gone.task_id FROM gone
ORDER BY gone.task_id
ON CONFLICT DO NOTHING;
