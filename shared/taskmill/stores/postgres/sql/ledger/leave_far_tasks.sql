-- Forget those of these tasks that do not wait any more, or for another time.
DELETE FROM far_tasks AS far
USING tasks AS task
WHERE
    far.task_id = ANY(%(ids)s::uuid [])
    AND task.id = far.task_id
    AND (
        task.status <> 'scheduled'
        OR (task.generation, task.turn) > (far.generation, far.turn)
    );
