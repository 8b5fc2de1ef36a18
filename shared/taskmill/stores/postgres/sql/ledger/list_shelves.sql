-- Read the last task on the shelf of each line that has tasks there, by the names of the lines, after
-- a name: two steps in the index for each.
WITH RECURSIVE shelves AS (
    (
        SELECT shelved.line FROM shelved_tasks AS shelved
        WHERE shelved.line > %(after)s
        ORDER BY shelved.line
        LIMIT 1
    )
    UNION ALL
    SELECT following.line
    FROM shelves
    CROSS JOIN LATERAL (
        SELECT shelved.line FROM shelved_tasks AS shelved
        WHERE shelved.line > shelves.line
        ORDER BY shelved.line
        LIMIT 1
    ) AS following
)

SELECT
    shelves.line,
    last_one.task_id::text AS id,
    last_one.generation,
    last_one.line_order
FROM (SELECT shelves.line FROM shelves LIMIT %(most)s) AS shelves
CROSS JOIN LATERAL (
    SELECT
        shelved.task_id,
        shelved.generation,
        shelved.line_order
    FROM shelved_tasks AS shelved
    WHERE shelved.line = shelves.line
    ORDER BY shelved.line_order DESC, shelved.task_id DESC
    LIMIT 1
) AS last_one
ORDER BY shelves.line;
