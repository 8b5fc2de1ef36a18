-- Count unfinished tasks by type, status and priority, and those of them that are queued, with the oldest:
-- tasks noted when the window passed over their age, younger ones, and far ones. At most the
-- requested number of rows of each kind is read; `noted`, `young` and `far` return how many were.
WITH passed AS (
    SELECT windows.until FROM windows
    WHERE windows.name = 'unfinished'
),

noted AS (
    SELECT task_id FROM unfinished
    LIMIT %(most)s
),

far AS (
    SELECT task_id FROM far_tasks
    LIMIT %(most)s
),

young AS (
    SELECT
        tasks.type,
        tasks.status,
        tasks.priority,
        tasks.generation,
        tasks.due_at,
        tasks.finished_at
    FROM tasks
    WHERE tasks.created_at > (SELECT passed.until FROM passed)
    ORDER BY tasks.created_at DESC
    LIMIT %(most)s
),

waiting AS (
    SELECT
        young.type,
        young.status,
        young.priority,
        young.generation,
        young.due_at
    FROM young
    WHERE young.finished_at IS NULL
    UNION ALL
    SELECT
        tasks.type,
        tasks.status,
        tasks.priority,
        tasks.generation,
        tasks.due_at
    FROM (SELECT noted.task_id FROM noted UNION SELECT far.task_id FROM far) AS old
    INNER JOIN tasks ON old.task_id = tasks.id
    -- Some were noted although they are young.
    WHERE tasks.finished_at IS NULL AND tasks.created_at <= (SELECT passed.until FROM passed)
),

line AS (
    SELECT
        waiting.type,
        waiting.status,
        coalesce(waiting.priority, 1) AS priority,
        CASE
            WHEN waiting.status = 'queued' THEN waiting.generation
            WHEN waiting.due_at <= now() THEN (extract(EPOCH FROM waiting.due_at) * 1000)::bigint
        END AS since
    FROM waiting
)

SELECT
    line.type,
    line.status,
    line.priority,
    count(*) AS tasks,
    count(line.since) AS in_line,
    min(line.since) AS since,
    (SELECT count(*) FROM noted) AS noted,
    (SELECT count(*) FROM young) AS young,
    (SELECT count(*) FROM far) AS far
FROM line
GROUP BY GROUPING SETS ((line.type, line.status, line.priority), ());
