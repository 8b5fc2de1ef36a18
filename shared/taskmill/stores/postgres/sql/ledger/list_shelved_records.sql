-- Read tasks on shelves whose records have not been ended yet.
SELECT
    shelved.task_id::text AS id,
    shelved.generation
FROM shelved_tasks AS shelved
WHERE shelved.has_record
ORDER BY shelved.task_id
LIMIT %(most)s;
