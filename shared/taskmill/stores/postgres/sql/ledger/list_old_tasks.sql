-- Read, of the tasks that were unfinished when they were not young any more, those that the hot
-- state holds.
SELECT
    id::text AS id,
    type,
    tenant,
    status,
    generation,
    turn,
    rank,
    token,
    largest_token,
    attempt,
    next_attempt,
    losses,
    cancel_requested,
    round(extract(EPOCH FROM started_at) * 1000)::bigint AS started_at_ms,
    round(extract(EPOCH FROM finished_at) * 1000)::bigint AS finished_at_ms,
    round(extract(EPOCH FROM due_at) * 1000)::bigint AS due_at_ms,
    result::text AS result,
    result_ref::text AS result_ref,
    reason,
    error_class,
    error_message,
    submission,
    submitted,
    fingerprint,
    idempotency_key,
    payload::text AS payload,
    payload_size,
    payload_ref::text AS payload_ref,
    metadata::text AS metadata,
    max_attempts,
    timeout_seconds,
    retry::text AS retry,
    timing::text AS timing,
    changed,
    round(extract(EPOCH FROM created_at) * 1000)::bigint AS created_at_ms
FROM unfinished
INNER JOIN tasks ON unfinished.task_id = tasks.id
WHERE
    tasks.submission IS NOT NULL
    AND (tasks.finished_at IS NOT NULL) = %(finished)s
    AND NOT EXISTS (
        SELECT 1
        FROM far_tasks AS far
        WHERE far.task_id = tasks.id AND tasks.status = 'scheduled'
    )
    AND (
        tasks.finished_at IS NULL
        OR tasks.finished_at > now() - %(record_seconds)s * '1 second'::interval
        OR (
            tasks.idempotency_key IS NOT NULL
            AND tasks.submitted > (extract(EPOCH FROM now()) - %(window_seconds)s) * 1000
        )
    );
