-- Record the dead tasks that a redrive job selects, in the order of their deaths.
WITH taken AS (
    INSERT INTO redrive_items (job_id, task_id, generation)
    SELECT
        %(id)s::uuid,
        task_id,
        generation
    FROM dead_letters
    WHERE
        tenant = %(tenant)s
        AND (%(type)s::text IS NULL OR type = %(type)s)
        AND (%(reason)s::text IS NULL OR reason = %(reason)s)
        AND (%(error_class)s::text IS NULL OR error_class = %(error_class)s)
        AND (
            %(dead_after_ms)s::double precision IS NULL
            OR died_at > to_timestamp(%(dead_after_ms)s::double precision / 1000.0)
        )
        AND (
            %(dead_before_ms)s::double precision IS NULL
            OR died_at < to_timestamp(%(dead_before_ms)s::double precision / 1000.0)
        )
    ORDER BY died_at, task_id
    LIMIT %(limit)s
    RETURNING 1
)

UPDATE redrive_jobs
SET
    total = (SELECT count(*) FROM taken),
    state = CASE WHEN EXISTS (SELECT 1 FROM taken) THEN 'running' ELSE 'done' END
WHERE id = %(id)s::uuid;
