-- Count what waits on shelves by type and class, the first words of a line, from the index alone.
-- Beyond a limit the rest is left out: the last lines.
WITH counted AS (
    SELECT
        found.line,
        count(*) AS tasks,
        min(found.line_order) AS oldest
    FROM (
        SELECT shelved.line, shelved.line_order FROM shelved_tasks AS shelved
        ORDER BY shelved.line
        LIMIT %(most)s
    ) AS found
    GROUP BY found.line
)

SELECT
    min(counted.line) AS some_line,
    sum(counted.tasks)::bigint AS tasks,
    min(counted.oldest) AS oldest
FROM counted
GROUP BY split_part(counted.line, E'\t', 1), split_part(counted.line, E'\t', 2);
