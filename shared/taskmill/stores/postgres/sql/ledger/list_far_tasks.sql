-- Read, of the tasks that the ledger alone keeps, those that a key names; their payloads stay here.
SELECT
    task.*,
    'null' AS payload
FROM far_tasks AS far
INNER JOIN shown_tasks AS task ON far.task_id = task.id
WHERE
    task.status = 'scheduled'
    AND task.idempotency_key IS NOT NULL;
