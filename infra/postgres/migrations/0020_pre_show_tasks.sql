-- A row of `tasks` as readers get it: once without its payload, and once whole. A row whose submission
-- has not arrived is not shown yet. What is searched keeps its own type, so that the indexes of the
-- table serve the views. A new column goes to the end of both. May run at any time before the code.
CREATE VIEW shown_tasks AS
SELECT
    id,
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
    finished_at,
    result::text AS result,
    result_ref,
    reason,
    error_class,
    error_message,
    submission,
    submitted,
    fingerprint,
    idempotency_key,
    payload_size,
    payload_ref,
    metadata,
    max_attempts,
    timeout_seconds,
    retry,
    timing,
    changed,
    created_at,
    round(extract(EPOCH FROM started_at) * 1000)::bigint AS started_at_ms,
    round(extract(EPOCH FROM finished_at) * 1000)::bigint AS finished_at_ms,
    round(extract(EPOCH FROM due_at) * 1000)::bigint AS due_at_ms,
    round(extract(EPOCH FROM created_at) * 1000)::bigint AS created_at_ms,
    stack,
    round(
        extract(EPOCH FROM nullif(first_started_at, started_at)) * 1000
    )::bigint AS first_started_at_ms
FROM tasks
WHERE submission IS NOT NULL;

CREATE VIEW whole_tasks AS
SELECT
    id,
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
    finished_at,
    result::text AS result,
    result_ref,
    reason,
    error_class,
    error_message,
    submission,
    submitted,
    fingerprint,
    idempotency_key,
    payload::text AS payload,
    payload_size,
    payload_ref,
    metadata,
    max_attempts,
    timeout_seconds,
    retry,
    timing,
    changed,
    created_at,
    round(extract(EPOCH FROM started_at) * 1000)::bigint AS started_at_ms,
    round(extract(EPOCH FROM finished_at) * 1000)::bigint AS finished_at_ms,
    round(extract(EPOCH FROM due_at) * 1000)::bigint AS due_at_ms,
    round(extract(EPOCH FROM created_at) * 1000)::bigint AS created_at_ms,
    stack,
    round(
        extract(EPOCH FROM nullif(first_started_at, started_at)) * 1000
    )::bigint AS first_started_at_ms
FROM tasks
WHERE submission IS NOT NULL;

GRANT SELECT ON shown_tasks, whole_tasks TO taskmill_app;
