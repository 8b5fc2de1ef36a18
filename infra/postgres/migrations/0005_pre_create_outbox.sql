-- The outbox: tasks that were accepted while the log was away. May run at any time before the code.
CREATE TABLE outbox (
    id bigserial PRIMARY KEY,
    task_id uuid NOT NULL,
    submission text NOT NULL,
    generation bigint NOT NULL,
    envelope json NOT NULL,
    fingerprint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    parked_reason text,
    CONSTRAINT a_submission_stands_once UNIQUE (task_id, submission, generation),
    CONSTRAINT what_is_parked_is_not_published CHECK (
        parked_reason IS NULL OR published_at IS NULL
    )
);

-- The relay's line; it is empty nearly always.
CREATE INDEX outbox_unsent ON outbox (id)
WHERE published_at IS NULL AND parked_reason IS NULL;

-- For who asks after a task or its key while the log is away.
CREATE INDEX outbox_unsent_tasks ON outbox (task_id) WHERE published_at IS NULL;

CREATE INDEX outbox_parked ON outbox (id) WHERE parked_reason IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON outbox TO taskmill_app;
GRANT USAGE ON SEQUENCE outbox_id_seq TO taskmill_app;
