-- Read the first tasks on the shelf of a line, in order, as whole tasks. Those whose submission has
-- not arrived wait. After some megabytes of payloads the rest is left out.
WITH places AS (
    SELECT
        shelved.task_id,
        shelved.generation,
        shelved.line_order,
        sum(tasks.payload_size) OVER (ORDER BY shelved.line_order, shelved.task_id) AS so_far,
        tasks.payload_size
    FROM shelved_tasks AS shelved
    INNER JOIN tasks ON shelved.task_id = tasks.id
    WHERE shelved.line = %(line)s AND tasks.submission IS NOT NULL
    ORDER BY shelved.line_order, shelved.task_id
    LIMIT %(most)s
)

SELECT
    task.*,
    places.generation AS shelved_generation,
    places.line_order
FROM places
INNER JOIN whole_tasks AS task ON places.task_id = task.id
WHERE places.so_far - places.payload_size < %(enough)s
ORDER BY places.line_order, places.task_id;
