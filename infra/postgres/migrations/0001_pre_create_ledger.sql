-- The ledger: the durable projection of all facts. May run at any time before the code.
CREATE TABLE tasks (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    type text NOT NULL,
    status text NOT NULL,
    generation bigint NOT NULL,
    turn integer NOT NULL,
    rank smallint NOT NULL,
    token bigint NOT NULL,
    largest_token bigint NOT NULL,
    attempt integer NOT NULL,
    losses integer NOT NULL,
    standing bigint [] NOT NULL GENERATED ALWAYS AS (
        ARRAY[
            generation,
            (status IN ('succeeded', 'dead', 'cancelled'))::int,
            turn,
            rank,
            token
        ]
    ) STORED,
    started_at timestamptz,
    finished_at timestamptz,
    due_at timestamptz,
    result json,
    reason text,
    error_class text,
    error_message text,
    -- What only a submission carries; empty while a fact came before it.
    submission text,
    submitted bigint,
    fingerprint text,
    idempotency_key text,
    payload json,
    payload_size integer,
    metadata jsonb,
    max_attempts integer,
    timeout_seconds double precision,
    created_at timestamptz,
    CONSTRAINT status_is_known CHECK (
        status IN ('scheduled', 'queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled')
    ),
    CONSTRAINT final_status_is_finished CHECK (
        (status IN ('succeeded', 'dead', 'cancelled')) = (finished_at IS NOT NULL)
    ),
    CONSTRAINT only_success_has_a_result CHECK ((status = 'succeeded') = (result IS NOT NULL)),
    CONSTRAINT the_dead_have_a_reason CHECK (status <> 'dead' OR reason IS NOT NULL),
    CONSTRAINT running_has_started CHECK (status <> 'running' OR started_at IS NOT NULL),
    CONSTRAINT retrying_has_a_time CHECK ((status = 'retrying') = (due_at IS NOT NULL)),
    CONSTRAINT counters_are_sane CHECK (
        generation >= 0 AND turn >= 1 AND attempt >= 1 AND losses >= 0 AND token >= 0
        AND largest_token >= token
        AND rank BETWEEN 0 AND 9
    ),
    CONSTRAINT attempts_are_limited CHECK (attempt <= max_attempts),
    CONSTRAINT a_body_is_whole CHECK (
        num_nulls(
            submission, submitted, fingerprint, payload, payload_size, metadata, max_attempts,
            timeout_seconds, created_at
        ) IN (0, 9)
    )
) WITH (fillfactor = 70);

-- No status here: a row that changes its status is then updated in place.
CREATE INDEX tasks_newest_first ON tasks (tenant, created_at DESC, id DESC);
CREATE INDEX tasks_by_metadata ON tasks USING gin (metadata jsonb_path_ops)
WHERE metadata <> '{}'::jsonb;

-- The state of a row is told by what stands further in life.
CREATE FUNCTION by_standing(
    known_standing bigint [], known anyelement, told_standing bigint [], told anyelement
) RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE WHEN told_standing > known_standing THEN told ELSE known END
$$;

-- The body of a row is its generation's; within one generation it fills a gap, never replaces.
CREATE FUNCTION by_generation(
    known_generation bigint, known anyelement, told_generation bigint, told anyelement
) RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE
    WHEN told_generation = known_generation THEN COALESCE(known, told)
    WHEN told_generation > known_generation THEN told
    ELSE known
END
$$;

CREATE TABLE facts (
    task_id uuid NOT NULL,
    generation bigint NOT NULL,
    turn integer NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    at timestamptz NOT NULL,
    body json NOT NULL,
    PRIMARY KEY (task_id, generation, turn, kind, subject, at)
) PARTITION BY RANGE (at);

CREATE TABLE facts_outside_months PARTITION OF facts DEFAULT;

CREATE VIEW attempts AS
SELECT
    task_id,
    generation,
    turn,
    (body ->> 'attempt')::integer AS attempt,
    (body ->> 'token')::bigint AS token,
    CASE kind
        WHEN 'AttemptLost' THEN 'lost'
        WHEN 'TaskDeferred' THEN 'deferred'
        WHEN 'TaskSucceeded' THEN 'succeeded'
        WHEN 'TaskDied' THEN 'died'
        WHEN 'TaskCancelled' THEN 'cancelled'
    END AS outcome,
    to_timestamp((body ->> 'started_at_ms')::bigint / 1000.0) AS started_at,
    at AS ended_at,
    body ->> 'reason' AS reason,
    body ->> 'error_class' AS error_class,
    body ->> 'error_message' AS error_message
FROM facts
WHERE kind IN ('AttemptLost', 'TaskDeferred', 'TaskSucceeded', 'TaskDied', 'TaskCancelled');

CREATE TABLE quarantine (
    topic text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    member integer NOT NULL,
    reason text NOT NULL,
    value bytea NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (topic, partition, "offset", member)
);

CREATE TABLE applied (
    topic text NOT NULL,
    partition integer NOT NULL,
    position bigint NOT NULL,
    as_of timestamptz NOT NULL,
    PRIMARY KEY (topic, partition)
);

-- The application adds to the history and cannot rewrite it.
GRANT SELECT, INSERT, UPDATE ON tasks, applied TO taskmill_app;
GRANT SELECT, INSERT ON facts, quarantine TO taskmill_app;
GRANT SELECT ON attempts TO taskmill_app;
