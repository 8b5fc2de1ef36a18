-- Read, of some tasks, those that no list of what the hot state holds need name: what has ended and
-- is not kept any more, and what waits far ahead without a key.
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
    payload_ref::text AS payload_ref,
    payload_size,
    metadata::text AS metadata,
    max_attempts,
    timeout_seconds,
    retry::text AS retry,
    timing::text AS timing,
    changed,
    round(extract(EPOCH FROM created_at) * 1000)::bigint AS created_at_ms
FROM tasks
WHERE
    id = ANY(%(ids)s::uuid [])
    AND tasks.submission IS NOT NULL
    AND CASE
        WHEN tasks.finished_at IS NOT NULL
            THEN NOT (
                tasks.created_at > now() - %(window_seconds)s * '1 second'::interval
                AND (
                    tasks.finished_at > now() - %(record_seconds)s * '1 second'::interval
                    OR (
                        tasks.idempotency_key IS NOT NULL
                        AND tasks.submitted > (extract(EPOCH FROM now()) - %(window_seconds)s) * 1000
                    )
                )
            )
        ELSE tasks.status = 'scheduled'
            AND tasks.idempotency_key IS NULL
            AND EXISTS (SELECT 1 FROM far_tasks AS far WHERE far.task_id = tasks.id)
    END;
