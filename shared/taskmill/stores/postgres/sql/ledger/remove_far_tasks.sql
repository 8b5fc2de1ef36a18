-- Remove those of these tasks from the far ones that no longer wait, or wait for another time.
DELETE FROM far_tasks AS far
USING tasks AS task
WHERE
    far.task_id = ANY(%(ids)s::uuid [])
    AND task.id = far.task_id
    AND (
        task.status <> 'scheduled'
        OR (task.generation, task.turn) > (far.generation, far.turn)
    );
