-- Forget the letters of those of these tasks who are not dead any more.
DELETE FROM dead_letters AS letter
USING tasks AS task
WHERE
    letter.task_id = ANY(%(ids)s::uuid [])
    AND task.id = letter.task_id
    AND task.status <> 'dead';
