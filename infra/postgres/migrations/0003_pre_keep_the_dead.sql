-- Who is dead, who is brought back, and what was said of records that were never tasks. May run at
-- any time before the code.

-- A table of its own, so that the dead are listed without an index on the status of `tasks`.
CREATE TABLE dead_letters (
    task_id uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    tenant text NOT NULL,
    type text NOT NULL,
    generation bigint NOT NULL,
    reason text NOT NULL,
    error_class text,
    first_failed_at timestamptz NOT NULL,
    died_at timestamptz NOT NULL
);
CREATE INDEX dead_letters_latest_first ON dead_letters (tenant, died_at DESC, task_id DESC);

INSERT INTO dead_letters (
    task_id, tenant, type, generation, reason, error_class, first_failed_at, died_at
)
SELECT
    id,
    tenant,
    type,
    generation,
    reason,
    error_class,
    finished_at,
    finished_at
FROM tasks
WHERE status = 'dead';

CREATE TABLE redrive_jobs (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    wanted json NOT NULL,
    rate_per_second double precision NOT NULL,
    state text NOT NULL,
    why text,
    total integer NOT NULL,
    -- What had ended when the job was begun or taken up again: the canary counts from there.
    ended_before integer NOT NULL DEFAULT 0,
    failed_before integer NOT NULL DEFAULT 0,
    redriven_before integer NOT NULL DEFAULT 0,
    paced_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT state_is_known CHECK (state IN ('running', 'paused', 'stopped', 'done')),
    CONSTRAINT rate_is_positive CHECK (rate_per_second > 0)
);
CREATE UNIQUE INDEX one_job_for_a_request ON redrive_jobs (fingerprint)
WHERE state IN ('running', 'paused');
CREATE INDEX redrive_jobs_latest_first ON redrive_jobs (tenant, created_at DESC, id DESC);

-- Who was dead when a job was made: each is brought back by it once at most.
CREATE TABLE redrive_items (
    job_id uuid NOT NULL REFERENCES redrive_jobs ON DELETE CASCADE,
    task_id uuid NOT NULL,
    generation bigint NOT NULL,
    next_generation bigint,
    skipped boolean NOT NULL DEFAULT FALSE,
    ended text,
    PRIMARY KEY (job_id, task_id),
    CONSTRAINT a_skipped_one_has_no_next CHECK (NOT skipped OR next_generation IS NULL)
);
CREATE INDEX redrive_items_to_do ON redrive_items (job_id, task_id)
WHERE next_generation IS NULL AND NOT skipped;
CREATE INDEX redrive_items_under_way ON redrive_items (job_id, task_id)
WHERE next_generation IS NOT NULL AND ended IS NULL;

ALTER TABLE quarantine
ADD COLUMN discarded_at timestamptz,
ADD COLUMN discarded_by text;
CREATE INDEX quarantine_latest_first ON quarantine (
    at DESC, topic DESC, partition DESC, "offset" DESC, member DESC
);

GRANT SELECT, INSERT, UPDATE, DELETE ON dead_letters TO taskmill_app;
GRANT SELECT, INSERT, UPDATE ON redrive_jobs, redrive_items TO taskmill_app;
-- The record itself cannot be rewritten.
GRANT UPDATE (discarded_at, discarded_by) ON quarantine TO taskmill_app;
