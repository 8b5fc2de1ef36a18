-- Record the results of a job's tasks: the job redrives each at most once.
UPDATE redrive_items AS item
SET
    next_generation = told.next_generation,
    skipped = told.next_generation IS NULL
FROM json_to_recordset(%(done)s::json) AS told (task_id uuid, next_generation bigint)
WHERE item.job_id = %(id)s AND item.task_id = told.task_id;
