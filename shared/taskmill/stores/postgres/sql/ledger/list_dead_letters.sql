-- Read a page of dead tasks, latest death first, after the last one of the previous page.
SELECT
    task.*,
    round(extract(EPOCH FROM letter.first_failed_at) * 1000)::bigint AS first_failed_at_ms
FROM dead_letters AS letter
INNER JOIN shown_tasks AS task ON letter.task_id = task.id
WHERE
    letter.tenant = %(tenant)s
    AND task.status = 'dead'
    AND (%(type)s::text IS NULL OR letter.type = %(type)s)
    AND (%(reason)s::text IS NULL OR letter.reason = %(reason)s)
    AND (%(error_class)s::text IS NULL OR letter.error_class = %(error_class)s)
    AND (
        %(dead_after_ms)s::double precision IS NULL
        OR letter.died_at > to_timestamp(%(dead_after_ms)s::double precision / 1000.0)
    )
    AND (
        %(dead_before_ms)s::double precision IS NULL
        OR letter.died_at < to_timestamp(%(dead_before_ms)s::double precision / 1000.0)
    )
    AND (%(metadata)s::jsonb = '{}'::jsonb OR task.metadata @> %(metadata)s::jsonb)
    AND (
        %(created_after_ms)s::double precision IS NULL
        OR task.created_at > to_timestamp(%(created_after_ms)s::double precision / 1000.0)
    )
    AND (
        %(created_before_ms)s::double precision IS NULL
        OR task.created_at < to_timestamp(%(created_before_ms)s::double precision / 1000.0)
    )
    AND (
        %(after_ms)s::double precision IS NULL
        OR (letter.died_at, letter.task_id)
        < (to_timestamp(%(after_ms)s::double precision / 1000.0), %(after_id)s::uuid)
    )
ORDER BY letter.died_at DESC, letter.task_id DESC
LIMIT %(limit)s;
