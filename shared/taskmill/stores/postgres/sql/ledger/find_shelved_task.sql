-- Find out whether a task is on the shelf of its line.
SELECT shelved.task_id
FROM shelved_tasks AS shelved
INNER JOIN tasks ON shelved.task_id = tasks.id AND shelved.generation = tasks.generation
WHERE shelved.task_id = %(id)s;
