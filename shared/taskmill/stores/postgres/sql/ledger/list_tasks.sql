-- Read a page of tasks, newest first, after the last one of the previous page.
SELECT *
FROM shown_tasks
WHERE
    tenant = %(tenant)s
    AND (%(type)s::text IS NULL OR type = %(type)s)
    AND (%(status)s::text IS NULL OR status = %(status)s)
    AND (
        %(metadata)s::jsonb = '{}'::jsonb
        -- The index covers only rows with metadata, so the query must exclude the others.
        OR (metadata <> '{}'::jsonb AND metadata @> %(metadata)s::jsonb)
    )
    AND (
        %(created_after_ms)s::double precision IS NULL
        OR created_at > to_timestamp(%(created_after_ms)s::double precision / 1000.0)
    )
    AND (
        %(created_before_ms)s::double precision IS NULL
        OR created_at < to_timestamp(%(created_before_ms)s::double precision / 1000.0)
    )
    AND (
        %(after_id)s::uuid IS NULL
        OR (created_at, id)
        < (to_timestamp(%(after_ms)s::double precision / 1000.0), %(after_id)s::uuid)
    )
ORDER BY created_at DESC, id DESC
LIMIT %(limit)s;
