-- Move the window over the age of tasks on, by one step at the most, and note what it finds
-- unfinished. Beside another, each step is taken once.
WITH step AS (
    SELECT
        until AS after,
        LEAST(
            now() - %(behind_seconds)s * '1 second'::interval,
            until + %(step_seconds)s * '1 second'::interval
        ) AS until
    FROM windows
    WHERE name = 'unfinished'
    FOR UPDATE
),

moved AS (
    UPDATE windows SET until = step.until
    FROM step
    WHERE windows.name = 'unfinished' AND step.until > step.after
    RETURNING step.after, step.until
),

noted AS (
    INSERT INTO unfinished (task_id)
    SELECT tasks.id
    FROM moved
    INNER JOIN tasks ON tasks.created_at > moved.after AND tasks.created_at <= moved.until
    WHERE tasks.finished_at IS NULL
    ON CONFLICT DO NOTHING
)

SELECT
    moved.after,
    moved.until
FROM moved;
