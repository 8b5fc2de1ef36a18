-- Delete the dead letters of those of these tasks that are no longer dead.
DELETE FROM dead_letters AS letter
USING tasks AS task
WHERE
    letter.task_id = ANY(%(ids)s::uuid [])
    AND task.id = letter.task_id
    AND task.status <> 'dead';
