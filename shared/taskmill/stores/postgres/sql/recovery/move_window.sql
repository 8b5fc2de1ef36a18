-- Move the window over the age of tasks by the held step, and note the tasks in it that are
-- unfinished and not far.
WITH moved AS (
    UPDATE windows SET until = %(until)s
    WHERE windows.name = 'unfinished'
)

INSERT INTO unfinished (task_id)
SELECT tasks.id
FROM tasks
WHERE
    tasks.created_at > %(after)s
    AND tasks.created_at <= %(until)s
    AND tasks.finished_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM far_tasks AS far WHERE far.task_id = tasks.id)
ON CONFLICT DO NOTHING;
