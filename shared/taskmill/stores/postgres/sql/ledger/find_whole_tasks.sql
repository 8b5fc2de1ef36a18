-- Read complete tasks, and whether they are on the shelves of their lines.
SELECT
    task.*,
    EXISTS (
        SELECT 1
        FROM shelved_tasks AS shelved
        WHERE shelved.task_id = task.id AND shelved.generation = task.generation
    ) AS is_shelved
FROM whole_tasks AS task
WHERE task.id = ANY(%(ids)s::uuid []);
