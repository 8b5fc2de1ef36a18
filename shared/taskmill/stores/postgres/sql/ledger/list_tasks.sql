-- Read a page of tasks, newest first, behind the last one of the page before.
SELECT
    id::text AS id,
    type,
    tenant,
    status,
    generation,
    attempt,
    losses,
    idempotency_key,
    max_attempts,
    payload_size,
    payload_ref::text AS payload_ref,
    metadata::text AS metadata,
    timing::text AS timing,
    fingerprint,
    result::text AS result,
    result_ref::text AS result_ref,
    reason,
    error_class,
    error_message,
    cancel_requested,
    round(extract(EPOCH FROM created_at) * 1000)::bigint AS created_at_ms,
    round(extract(EPOCH FROM started_at) * 1000)::bigint AS started_at_ms,
    round(extract(EPOCH FROM finished_at) * 1000)::bigint AS finished_at_ms,
    round(extract(EPOCH FROM due_at) * 1000)::bigint AS due_at_ms
FROM tasks
WHERE
    tenant = %(tenant)s
    AND submission IS NOT NULL
    AND (%(type)s::text IS NULL OR type = %(type)s)
    AND (%(status)s::text IS NULL OR status = %(status)s)
    AND (
        %(metadata)s::jsonb = '{}'::jsonb
        -- The index has only those that have any, and must be told that no other is asked for.
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
