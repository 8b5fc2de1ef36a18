-- Read one task. A row whose submission has not arrived is not told yet.
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
WHERE id = %(id)s AND submission IS NOT NULL;
