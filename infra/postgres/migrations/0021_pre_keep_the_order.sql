-- What decides a task's turn among those that wait: its priority, its fairness key, its place in the
-- batch of its submission, and its place in line where that follows from neither these nor its timing.
-- May run at any time before the code.
ALTER TABLE tasks
ADD COLUMN priority smallint,
ADD COLUMN fairness_key text,
ADD COLUMN index smallint,
ADD COLUMN order_ms bigint,
-- The turn from which on order_ms is so; 0 while it was never set.
ADD COLUMN ordered integer NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW shown_tasks AS
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
    )::bigint AS first_started_at_ms,
    coalesce(priority, 1) AS priority,
    fairness_key
FROM tasks
WHERE submission IS NOT NULL;

CREATE OR REPLACE VIEW whole_tasks AS
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
    )::bigint AS first_started_at_ms,
    coalesce(priority, 1) AS priority,
    fairness_key,
    index,
    order_ms,
    ordered
FROM tasks
WHERE submission IS NOT NULL;

-- A new argument makes a function of its own, so the one before goes, and its grants with it.
DROP FUNCTION taskmill.enqueue;

-- Ask for a task inside the caller's transaction, and return its id. Rolled back, nobody asked;
-- committed, it becomes one task. What depends on the type is checked later: the row is then parked.
CREATE FUNCTION taskmill.enqueue(
    type text,
    payload json DEFAULT NULL,
    idempotency_key text DEFAULT NULL,
    delay_seconds double precision DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    timeout_seconds double precision DEFAULT NULL,
    retry json DEFAULT NULL,
    metadata json DEFAULT NULL,
    payload_ref json DEFAULT NULL,
    priority text DEFAULT NULL,
    fairness_key text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    longest_payload CONSTANT integer := 262144;
    longest_request CONSTANT integer := 1048576;
    longest_fairness_key CONSTANT integer := 200;
    request text;
    named uuid;
BEGIN
    IF type IS NULL OR length(type) NOT BETWEEN 1 AND 128 THEN
        PERFORM taskmill.refuse(
            'invalid_request', 'type', 'type has 1 to 128 characters', 'Name a deployed type.'
        );
    ELSIF payload IS NOT NULL AND payload_ref IS NOT NULL THEN
        PERFORM taskmill.refuse(
            'payload_conflict', 'payload_ref', 'a task has a payload or a payload_ref, and not both',
            'Leave one of them out.'
        );
    ELSIF octet_length(payload::text) > longest_payload THEN
        PERFORM taskmill.refuse(
            'payload_too_large', 'payload',
            format(
                'the payload has %s bytes; the limit is %s', octet_length(payload::text),
                longest_payload
            ),
            'Upload it with POST /v1/payloads, and give its payload_ref.'
        );
    ELSIF
        idempotency_key COLLATE "C" !~ '^[ -~]+$' OR length(idempotency_key) NOT BETWEEN 1 AND 255
    THEN
        PERFORM taskmill.refuse(
            'invalid_request', 'idempotency_key',
            'an idempotency key has 1 to 255 characters of printable ASCII',
            'Give NULL for a task without a key.'
        );
    ELSIF delay_seconds IS NOT NULL AND run_at IS NOT NULL THEN
        PERFORM taskmill.refuse(
            'invalid_request', 'delay_seconds', 'give either delay_seconds or run_at, not both',
            'Leave one of them out.'
        );
    ELSIF priority NOT IN ('critical', 'high', 'normal', 'low', '3', '2', '1', '0') THEN
        PERFORM taskmill.refuse(
            'invalid_request', 'priority',
            'there is no such priority; the priorities are critical, high, normal and low, or 3 to 0',
            'Give NULL for the priority of the type.'
        );
    ELSIF
        length(fairness_key) NOT BETWEEN 1 AND longest_fairness_key
        OR fairness_key COLLATE "C" ~ '[\u0001-\u001f\u007f-\u009f]'
    THEN
        PERFORM taskmill.refuse(
            'invalid_request', 'fairness_key',
            format(
                'fairness_key has 1 to %s characters, and no control characters', longest_fairness_key
            ),
            'Give NULL for a task without a key.'
        );
    END IF;

    -- By hand, because it keeps what was given as it was given, and leaves out what was not.
    SELECT '{' || string_agg(to_json(field.name) || ':' || field.value::text, ',') || '}'
    INTO request
    FROM (
        VALUES
        ('type', to_json(type)),
        ('payload', payload),
        ('payload_ref', payload_ref),
        ('idempotency_key', to_json(idempotency_key)),
        ('delay_seconds', taskmill.number('delay_seconds', delay_seconds)),
        ('run_at', taskmill.moment('run_at', run_at)),
        ('expires_at', taskmill.moment('expires_at', expires_at)),
        ('max_attempts', to_json(max_attempts)),
        ('timeout_seconds', taskmill.number('timeout_seconds', timeout_seconds)),
        ('retry', retry),
        ('metadata', metadata),
        (
            'priority',
            CASE WHEN priority ~ '^[0-9]$' THEN priority::json ELSE to_json(priority) END
        ),
        ('fairness_key', to_json(fairness_key))
    ) AS field (name, value)
    WHERE field.value IS NOT NULL;

    IF octet_length(request) > longest_request THEN
        PERFORM taskmill.refuse(
            'invalid_request', field.name,
            format('the request has %s bytes; the limit is %s', octet_length(request), longest_request),
            format('%s is the largest of its arguments.', field.name)
        )
        FROM (
            VALUES ('payload_ref', payload_ref), ('retry', retry), ('metadata', metadata)
        ) AS field (name, value)
        WHERE field.value IS NOT NULL
        ORDER BY octet_length(field.value::text) DESC
        LIMIT 1;
    END IF;

    IF idempotency_key IS NULL THEN
        named := public.unkeyed_id();
    ELSE
        named := public.keyed_id('default', type, idempotency_key);
    END IF;
    INSERT INTO public.enqueued (task_id, submission, request)
    VALUES (named, replace(gen_random_uuid()::text, '-', ''), request::json);
    RETURN named;
END
$$;

REVOKE EXECUTE ON FUNCTION taskmill.enqueue FROM PUBLIC;
GRANT EXECUTE ON FUNCTION taskmill.enqueue TO taskmill_enqueue;
