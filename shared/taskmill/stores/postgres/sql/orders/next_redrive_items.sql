-- Read the next tasks of a redrive job.
SELECT
    task_id::text AS task_id,
    generation
FROM redrive_items
WHERE job_id = %(id)s AND next_generation IS NULL AND NOT skipped
ORDER BY task_id
LIMIT %(count)s;
