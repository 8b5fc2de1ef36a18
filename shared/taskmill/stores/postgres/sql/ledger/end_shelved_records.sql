-- Note that the records of these tasks on shelves have been ended.
UPDATE shelved_tasks AS shelved
SET has_record = FALSE
FROM json_to_recordset(%(members)s::json) AS told (task_id uuid, generation bigint)
WHERE shelved.task_id = told.task_id AND shelved.generation = told.generation;
