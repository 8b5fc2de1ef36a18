-- Insert a redrive job, unless there is an active one for the same request.
INSERT INTO redrive_jobs (
    id, tenant, fingerprint, wanted, rate_per_second, state, total, paced_at, created_at,
    changed_at
)
VALUES (
    %(id)s,
    %(tenant)s,
    %(fingerprint)s,
    %(wanted)s,
    %(rate_per_second)s,
    'running',
    0,
    clock_timestamp(),
    to_timestamp(%(at_ms)s / 1000.0),
    to_timestamp(%(at_ms)s / 1000.0)
)
ON CONFLICT (fingerprint) WHERE state IN ('running', 'paused') DO NOTHING
RETURNING id::text AS id;
