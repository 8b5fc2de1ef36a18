-- Requests that stand in a table until they are tasks: `taskmill.enqueue` writes them inside the
-- caller's transaction. May run at any time before the code. Nothing here is newer than
-- PostgreSQL 14.

-- No constraint makes one caller wait for another one's transaction: keys are compared later.
CREATE TABLE enqueued (
    id bigserial PRIMARY KEY,
    tenant text NOT NULL DEFAULT 'default',
    task_id uuid NOT NULL,
    submission text NOT NULL,
    -- Exactly what POST /v1/tasks takes.
    request json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Who was put off is not looked at before.
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    done_at timestamptz,
    parked_at timestamptz,
    parked_reason text,
    parked_detail text,
    parked_pointer text,
    CONSTRAINT what_is_parked_is_not_done CHECK (parked_at IS NULL OR done_at IS NULL),
    CONSTRAINT who_is_parked_knows_why CHECK (
        num_nulls(parked_at, parked_reason, parked_detail) IN (0, 3)
    )
) WITH (
    -- Who has left the line still stands in its index until that is swept, however large the table.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 50000,
    vacuum_index_cleanup = ON
);

-- The relay's line; it is empty nearly always.
CREATE INDEX enqueued_waiting ON enqueued (not_before, id)
WHERE done_at IS NULL AND parked_at IS NULL;

-- For who asks after a task that is none yet.
CREATE INDEX enqueued_tasks ON enqueued (task_id) WHERE done_at IS NULL;

CREATE INDEX enqueued_parked ON enqueued (id) WHERE parked_at IS NOT NULL;
CREATE INDEX enqueued_done ON enqueued (done_at) WHERE done_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON enqueued TO taskmill_app;
GRANT USAGE ON SEQUENCE enqueued_id_seq TO taskmill_app;

-- Rows that were taken or refused long ago.
CREATE FUNCTION forget_enqueued(before timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
WITH taken AS (
    SELECT id FROM enqueued
    WHERE done_at < old_enough(before)
    ORDER BY done_at
    LIMIT most
    FOR UPDATE SKIP LOCKED
),

refused AS (
    SELECT id FROM enqueued
    WHERE parked_at < old_enough(before)
    ORDER BY id
    LIMIT most
    FOR UPDATE SKIP LOCKED
),

gone AS (
    DELETE FROM enqueued
    WHERE id IN (SELECT id FROM taken UNION ALL SELECT id FROM refused LIMIT most)
    RETURNING 1
)

SELECT count(*) FROM gone
$$;

-- What the name of a task is made of: how long a part is, and the part.
CREATE FUNCTION name_part(part text) RETURNS bytea
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
SELECT int4send(octet_length(octets)) || octets FROM convert_to(part, 'UTF8') AS octets
$$;

-- The id that this idempotency key always names: a UUIDv8.
CREATE FUNCTION keyed_id(tenant text, type text, key text) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
SELECT
    encode(
        set_byte(
            set_byte(digest, 6, (get_byte(digest, 6) & 15) | 128),
            8,
            (get_byte(digest, 8) & 63) | 128
        ),
        'hex'
    )::uuid
FROM substr(
    sha256(public.name_part(tenant) || public.name_part(type) || public.name_part(key)), 1, 16
) AS digest
$$;

-- A UUIDv7 of this moment; a UUIDv4 of the server lends it the rest.
CREATE FUNCTION unkeyed_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
SELECT
    encode(
        set_byte(
            overlay(random PLACING substr(int8send(now_ms), 3) FROM 1 FOR 6),
            6,
            (get_byte(random, 6) & 15) | 112
        ),
        'hex'
    )::uuid
FROM
    uuid_send(gen_random_uuid()) AS random,
    CAST(floor(extract(EPOCH FROM clock_timestamp()) * 1000) AS bigint) AS now_ms
$$;

REVOKE EXECUTE ON FUNCTION
by_standing, by_generation, by_change, old_enough, forget_enqueued, name_part, keyed_id, unkeyed_id
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION by_standing, by_generation, by_change, forget_enqueued TO taskmill_app;

-- Before PostgreSQL 15 everybody may put tables there: nobody but us. Where the schema is another
-- one's, this only warns.
GRANT CREATE ON SCHEMA public TO CURRENT_USER;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

CREATE SCHEMA taskmill;

-- A refusal in the words of an error: CONSTRAINT has its code, COLUMN the argument.
CREATE FUNCTION taskmill.refuse(code text, argument text, why text, hint text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'invalid_parameter_value',
        MESSAGE = why,
        HINT = hint,
        COLUMN = argument,
        CONSTRAINT = code;
END
$$;

-- A moment as a request tells it.
CREATE FUNCTION taskmill.moment(argument text, told timestamptz) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT isfinite(told) THEN
        PERFORM taskmill.refuse(
            'invalid_request', argument, argument || ' is infinite', 'Name a moment.'
        );
    END IF;
    RETURN to_json(
        regexp_replace(
            to_char(told AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '\.?0*Z$', 'Z'
        )
    );
END
$$;

-- A number as a request tells it.
CREATE FUNCTION taskmill.number(argument text, told double precision) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
BEGIN
    IF told IN ('NaN', 'Infinity', '-Infinity') THEN
        PERFORM taskmill.refuse(
            'invalid_request', argument, argument || ' is no number', 'Name a number of seconds.'
        );
    END IF;
    RETURN told::text::json;
END
$$;

-- Ask for a task inside the caller's transaction, and return its id. Rolled back, nobody asked;
-- committed, it becomes one task. What only the type can tell is told later: the row is then parked.
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
    payload_ref json DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    longest_payload CONSTANT integer := 262144;
    longest_request CONSTANT integer := 1048576;
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
            'Upload it as POST /v1/payloads tells, and give its payload_ref.'
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
    END IF;

    -- By hand, because it keeps what was given as it was given, and leaves out what was not.
    SELECT '{' || string_agg(to_json(field.name) || ':' || field.told::text, ',') || '}'
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
        ('metadata', metadata)
    ) AS field (name, told)
    WHERE field.told IS NOT NULL;

    IF octet_length(request) > longest_request THEN
        PERFORM taskmill.refuse(
            'invalid_request', field.name,
            format('the request has %s bytes; the limit is %s', octet_length(request), longest_request),
            format('%s is the largest of its arguments.', field.name)
        )
        FROM (
            VALUES ('payload_ref', payload_ref), ('retry', retry), ('metadata', metadata)
        ) AS field (name, told)
        WHERE field.told IS NOT NULL
        ORDER BY octet_length(field.told::text) DESC
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

REVOKE EXECUTE ON FUNCTION
taskmill.enqueue, taskmill.refuse, taskmill.moment, taskmill.number
FROM PUBLIC;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'taskmill_enqueue') THEN
        CREATE ROLE taskmill_enqueue NOLOGIN;
    END IF;
END
$$;

-- Grant it to whoever may ask for tasks: it has this right and no other.
GRANT USAGE ON SCHEMA taskmill TO taskmill_enqueue;
GRANT EXECUTE ON FUNCTION taskmill.enqueue TO taskmill_enqueue;
