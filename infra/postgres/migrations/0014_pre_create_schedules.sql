-- What is submitted again and again. May run at any time before the code.

-- Of all schedules together: one that is deleted and made again never has a revision of before.
CREATE SEQUENCE schedule_revisions;

CREATE TABLE schedules (
    tenant text NOT NULL,
    name text NOT NULL,
    definition json NOT NULL,
    revision bigint NOT NULL DEFAULT nextval('schedule_revisions'),
    is_managed boolean NOT NULL,
    -- The nominal instant that comes next; none while it is paused, or when none comes any more.
    next_at timestamptz,
    -- When the scheduler looks at it: then, or later where a fire waits for the one before.
    look_at timestamptz,
    -- Of every instant until then it is decided what becomes of it.
    decided_at timestamptz NOT NULL,
    -- Instants that have come and are still to be fired, the next one first.
    held_ms bigint [] NOT NULL DEFAULT '{}',
    paused_at timestamptz,
    paused_by text,
    last_nominal_at timestamptz,
    last_fired_at timestamptz,
    last_task_id uuid,
    -- The latest tasks that were not known to have ended: an overlap is looked for among these.
    open_tasks uuid [] NOT NULL DEFAULT '{}',
    fired bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    backfilled bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, name),
    CONSTRAINT who_paused_it_is_told CHECK ((paused_at IS NULL) = (paused_by IS NULL)),
    CONSTRAINT what_is_paused_has_no_next CHECK (paused_at IS NULL OR next_at IS NULL),
    CONSTRAINT what_comes_is_looked_at CHECK ((next_at IS NULL) = (look_at IS NULL)),
    CONSTRAINT what_is_held_comes_next CHECK (
        cardinality(held_ms) = 0
        OR next_at IS NOT DISTINCT FROM to_timestamp(held_ms[1] / 1000.0)
    ),
    CONSTRAINT a_fire_is_told_whole CHECK (
        (last_nominal_at IS NULL) = (last_fired_at IS NULL)
        AND (last_nominal_at IS NULL) = (last_task_id IS NULL)
    )
);
CREATE INDEX schedules_by_time ON schedules (look_at) WHERE look_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON schedules TO taskmill_app;
GRANT USAGE ON SEQUENCE schedule_revisions TO taskmill_app;
