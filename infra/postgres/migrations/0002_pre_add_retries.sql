-- What retries and cancellation tell of a task. May run at any time before the code.
ALTER TABLE tasks
ADD COLUMN retry json,
ADD COLUMN next_attempt integer,
ADD COLUMN cancel_requested boolean NOT NULL DEFAULT FALSE,
ADD CONSTRAINT only_the_waiting_have_a_next_attempt CHECK (
    next_attempt IS NULL OR status = 'retrying'
);
