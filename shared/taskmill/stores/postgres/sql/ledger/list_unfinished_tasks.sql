-- Read the unfinished tasks of these types that are neither far nor on a shelf, nearly in order:
-- those younger than the window, and those noted when it passed over their age. One statement sees
-- one state of the window. Noted tasks are found one by one, since plans for a join depend on
-- estimates that a backlog outdates.
WITH passed AS (
    SELECT windows.until FROM windows
    WHERE windows.name = 'unfinished'
),

known AS (
    SELECT young.*
    FROM whole_tasks AS young
    WHERE young.created_at > (SELECT passed.until FROM passed)
    UNION ALL
    SELECT old.*
    FROM unfinished
    CROSS JOIN LATERAL (
        SELECT found.*
        FROM whole_tasks AS found
        WHERE found.id = unfinished.task_id
        OFFSET 0
    ) AS old
    WHERE old.created_at <= (SELECT passed.until FROM passed)
)

SELECT task.*
FROM known AS task
WHERE
    task.finished_at IS NULL
    AND task.type = ANY(%(types)s::text [])
    AND NOT EXISTS (
        SELECT 1
        FROM far_tasks AS far
        WHERE far.task_id = task.id AND task.status = 'scheduled'
    )
    AND NOT EXISTS (
        SELECT 1
        FROM shelved_tasks AS shelved
        WHERE
            shelved.task_id = task.id
            AND shelved.generation = task.generation
            AND task.status = 'queued'
    )
ORDER BY coalesce(task.order_ms, nullif(task.submitted, 0), task.generation), task.index;
