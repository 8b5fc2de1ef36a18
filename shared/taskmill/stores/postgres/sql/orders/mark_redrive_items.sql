-- Write down what became of a job's tasks: each is redriven by it once at most.
UPDATE redrive_items AS item
SET
    next_generation = told.next_generation,
    skipped = told.next_generation IS NULL
FROM json_to_recordset(%(done)s::json) AS told (task_id uuid, next_generation bigint)
WHERE item.job_id = %(id)s AND item.task_id = told.task_id;
