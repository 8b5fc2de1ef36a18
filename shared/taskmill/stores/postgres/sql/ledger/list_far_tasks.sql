-- Read, of the tasks that only the ledger keeps, those with a key, without their payloads.
SELECT
    task.*,
    'null' AS payload
FROM far_tasks AS far
INNER JOIN shown_tasks AS task ON far.task_id = task.id
WHERE
    task.status = 'scheduled'
    AND task.idempotency_key IS NOT NULL
UNION ALL
SELECT
    task.*,
    'null' AS payload
FROM shelved_tasks AS shelved
INNER JOIN shown_tasks AS task ON shelved.task_id = task.id AND shelved.generation = task.generation
WHERE
    task.status = 'queued'
    AND task.idempotency_key IS NOT NULL;
