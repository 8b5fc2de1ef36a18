-- Read, of the tasks that the ledger alone keeps, those that a key names; their payloads stay here.
SELECT
    tasks.id::text AS id,
    tasks.type,
    tasks.tenant,
    tasks.status,
    tasks.generation,
    tasks.turn,
    tasks.rank,
    tasks.token,
    tasks.largest_token,
    tasks.attempt,
    tasks.next_attempt,
    tasks.losses,
    tasks.cancel_requested,
    round(extract(EPOCH FROM tasks.started_at) * 1000)::bigint AS started_at_ms,
    round(extract(EPOCH FROM tasks.finished_at) * 1000)::bigint AS finished_at_ms,
    round(extract(EPOCH FROM tasks.due_at) * 1000)::bigint AS due_at_ms,
    tasks.result::text AS result,
    tasks.result_ref::text AS result_ref,
    tasks.reason,
    tasks.error_class,
    tasks.error_message,
    tasks.submission,
    tasks.submitted,
    tasks.fingerprint,
    tasks.idempotency_key,
    'null' AS payload,
    tasks.payload_ref::text AS payload_ref,
    tasks.payload_size,
    tasks.metadata::text AS metadata,
    tasks.max_attempts,
    tasks.timeout_seconds,
    tasks.retry::text AS retry,
    tasks.timing::text AS timing,
    tasks.changed,
    round(extract(EPOCH FROM tasks.created_at) * 1000)::bigint AS created_at_ms
FROM far_tasks AS far
INNER JOIN tasks ON far.task_id = tasks.id
WHERE
    tasks.submission IS NOT NULL
    AND tasks.status = 'scheduled'
    AND tasks.idempotency_key IS NOT NULL;
