-- Read, of the tasks that only the ledger keeps, those with a key, without their payloads.
SELECT
    task.*,
    'null' AS payload
FROM far_tasks AS far
INNER JOIN shown_tasks AS task ON far.task_id = task.id
WHERE
    task.status = 'scheduled'
    AND task.idempotency_key IS NOT NULL;
