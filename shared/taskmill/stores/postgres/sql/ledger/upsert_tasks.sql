-- Fold rows into the ledger. Repeated, late or reordered, they lead to the same row: the version
-- furthest along decides the state, and a body fills the gap left for it.
INSERT INTO tasks AS known (
    id, tenant, type, status, generation, turn, rank, token, largest_token, attempt, losses,
    started_at, first_started_at, finished_at, due_at, result, result_ref, reason, error_class, error_message, stack, next_attempt,
    cancel_requested, submission, submitted, fingerprint, idempotency_key, payload, payload_ref,
    payload_size, metadata, max_attempts, timeout_seconds, retry, created_at, timing, changed,
    priority, fairness_key, index, order_ms, ordered
)
SELECT
    told.id,
    told.tenant,
    told.type,
    told.status,
    told.generation,
    told.turn,
    told.rank,
    COALESCE(told.token, 0),
    COALESCE(told.largest_token, 0),
    COALESCE(told.attempt, 1),
    COALESCE(told.losses, 0),
    to_timestamp(told.started_at_ms / 1000.0),
    to_timestamp(COALESCE(told.first_started_at_ms, told.started_at_ms) / 1000.0),
    to_timestamp(told.finished_at_ms / 1000.0),
    to_timestamp(told.due_at_ms / 1000.0),
    told.result -> 0,
    told.result_ref,
    told.reason,
    told.error_class,
    told.error_message,
    told.stack,
    told.next_attempt,
    COALESCE(told.cancel_requested, FALSE),
    told.submission,
    told.submitted,
    told.fingerprint,
    told.idempotency_key,
    told.payload -> 0,
    told.payload_ref,
    told.payload_size,
    told.metadata,
    told.max_attempts,
    told.timeout_seconds,
    told.retry,
    to_timestamp(told.created_at_ms / 1000.0),
    told.timing,
    COALESCE(told.changed, 0),
    told.priority,
    told.fairness_key,
    told.index,
    told.order_ms,
    COALESCE(told.ordered, 0)
FROM json_to_recordset(%(rows)s::json) AS told (
    id uuid,
    tenant text,
    type text,
    status text,
    generation bigint,
    turn integer,
    rank smallint,
    token bigint,
    largest_token bigint,
    attempt integer,
    losses integer,
    started_at_ms double precision,
    first_started_at_ms double precision,
    finished_at_ms double precision,
    due_at_ms double precision,
    result json,
    result_ref json,
    reason text,
    error_class text,
    error_message text,
    stack text,
    next_attempt integer,
    cancel_requested boolean,
    submission text,
    submitted bigint,
    fingerprint text,
    idempotency_key text,
    payload json,
    payload_ref json,
    payload_size integer,
    metadata jsonb,
    max_attempts integer,
    timeout_seconds double precision,
    retry json,
    created_at_ms double precision,
    timing json,
    changed integer,
    priority smallint,
    fairness_key text,
    index smallint,
    order_ms bigint,
    ordered integer
)
ORDER BY told.id
ON CONFLICT (id) DO UPDATE SET
    status = by_standing(known.standing, known.status, excluded.standing, excluded.status),
    turn = by_standing(known.standing, known.turn, excluded.standing, excluded.turn),
    rank = by_standing(known.standing, known.rank, excluded.standing, excluded.rank),
    attempt = by_standing(known.standing, known.attempt, excluded.standing, excluded.attempt),
    finished_at = by_standing(known.standing, known.finished_at, excluded.standing, excluded.finished_at),
    due_at = by_standing(known.standing, known.due_at, excluded.standing, excluded.due_at),
    result = by_standing(known.standing, known.result, excluded.standing, excluded.result),
    result_ref = by_standing(
        known.standing, known.result_ref, excluded.standing, excluded.result_ref
    ),
    reason = by_standing(known.standing, known.reason, excluded.standing, excluded.reason),
    error_class = by_standing(known.standing, known.error_class, excluded.standing, excluded.error_class),
    error_message = by_standing(known.standing, known.error_message, excluded.standing, excluded.error_message),
    stack = by_standing(known.standing, known.stack, excluded.standing, excluded.stack),
    next_attempt = by_standing(known.standing, known.next_attempt, excluded.standing, excluded.next_attempt),
    generation = GREATEST(known.generation, excluded.generation),
    token = by_standing(known.standing, known.token, excluded.standing, excluded.token),
    largest_token = GREATEST(known.largest_token, excluded.largest_token),
    losses = CASE
        WHEN excluded.generation = known.generation THEN GREATEST(known.losses, excluded.losses)
        WHEN excluded.generation > known.generation THEN excluded.losses
        ELSE known.losses
    END,
    cancel_requested = CASE
        WHEN excluded.generation = known.generation
            THEN known.cancel_requested OR excluded.cancel_requested
        WHEN excluded.generation > known.generation THEN excluded.cancel_requested
        ELSE known.cancel_requested
    END,
    started_at = CASE
        WHEN excluded.generation <> known.generation
            THEN by_generation(
                known.generation, known.started_at, excluded.generation, excluded.started_at
            )
        ELSE GREATEST(known.started_at, excluded.started_at)
    END,
    first_started_at = CASE
        WHEN excluded.generation <> known.generation
            THEN by_generation(
                known.generation,
                known.first_started_at,
                excluded.generation,
                excluded.first_started_at
            )
        ELSE LEAST(COALESCE(known.first_started_at, known.started_at), excluded.first_started_at)
    END,
    submission = by_generation(
        known.generation, known.submission, excluded.generation, excluded.submission
    ),
    submitted = by_generation(
        known.generation, known.submitted, excluded.generation, excluded.submitted
    ),
    fingerprint = by_generation(
        known.generation, known.fingerprint, excluded.generation, excluded.fingerprint
    ),
    idempotency_key = by_generation(
        known.generation, known.idempotency_key, excluded.generation, excluded.idempotency_key
    ),
    payload = by_generation(known.generation, known.payload, excluded.generation, excluded.payload),
    payload_ref = by_generation(
        known.generation, known.payload_ref, excluded.generation, excluded.payload_ref
    ),
    payload_size = by_generation(
        known.generation, known.payload_size, excluded.generation, excluded.payload_size
    ),
    metadata = by_change(
        known.generation,
        known.changed,
        known.metadata,
        excluded.generation,
        excluded.changed,
        excluded.metadata
    ),
    timing = by_change(
        known.generation,
        known.changed,
        known.timing,
        excluded.generation,
        excluded.changed,
        excluded.timing
    ),
    priority = by_change(
        known.generation,
        known.changed,
        known.priority,
        excluded.generation,
        excluded.changed,
        excluded.priority
    ),
    changed = by_change(
        known.generation,
        known.changed,
        known.changed,
        excluded.generation,
        excluded.changed,
        excluded.changed
    ),
    order_ms = by_change(
        known.generation,
        known.ordered,
        known.order_ms,
        excluded.generation,
        excluded.ordered,
        excluded.order_ms
    ),
    ordered = by_change(
        known.generation,
        known.ordered,
        known.ordered,
        excluded.generation,
        excluded.ordered,
        excluded.ordered
    ),
    fairness_key = by_generation(
        known.generation, known.fairness_key, excluded.generation, excluded.fairness_key
    ),
    index = by_generation(known.generation, known.index, excluded.generation, excluded.index),
    max_attempts = by_generation(
        known.generation, known.max_attempts, excluded.generation, excluded.max_attempts
    ),
    timeout_seconds = by_generation(
        known.generation, known.timeout_seconds, excluded.generation, excluded.timeout_seconds
    ),
    retry = by_generation(known.generation, known.retry, excluded.generation, excluded.retry),
    created_at = by_generation(
        known.generation, known.created_at, excluded.generation, excluded.created_at
    )
WHERE
    excluded.standing > known.standing
    OR excluded.largest_token > known.largest_token
    OR (
        excluded.generation = known.generation
        AND (
            (known.submission IS NULL AND excluded.submission IS NOT NULL)
            OR excluded.changed > known.changed
            OR excluded.ordered > known.ordered
            OR (known.started_at IS NULL AND excluded.started_at IS NOT NULL)
            OR excluded.started_at > known.started_at
            OR excluded.first_started_at < COALESCE(known.first_started_at, known.started_at)
            OR excluded.losses > known.losses
            OR (excluded.cancel_requested AND NOT known.cancel_requested)
        )
    );
