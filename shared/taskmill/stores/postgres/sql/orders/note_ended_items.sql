-- Record which of a job's redriven tasks have ended. One that was redriven again had failed.
UPDATE redrive_items AS item
SET ended = CASE WHEN task.generation > item.next_generation THEN 'dead' ELSE task.status END
FROM tasks AS task
WHERE
    item.job_id = %(id)s
    AND item.next_generation IS NOT NULL
    AND item.ended IS NULL
    AND task.id = item.task_id
    AND (
        task.generation > item.next_generation
        OR (
            task.generation = item.next_generation
            AND task.status IN ('succeeded', 'dead', 'cancelled')
        )
    );
