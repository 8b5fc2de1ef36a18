-- Remove tasks from their shelves.
DELETE FROM shelved_tasks AS shelved
USING json_to_recordset(%(places)s::json) AS told (task_id uuid, generation bigint)
WHERE shelved.task_id = told.task_id AND shelved.generation = told.generation;
