-- Resume a redrive job: it starts with a canary, counted from its current progress.
UPDATE redrive_jobs AS job
SET
    state = 'running',
    why = NULL,
    paced_at = clock_timestamp(),
    changed_at = clock_timestamp(),
    redriven_before = tally.redriven,
    ended_before = tally.ended,
    failed_before = tally.failed
FROM (
    SELECT
        count(*) FILTER (WHERE next_generation IS NOT NULL) AS redriven,
        count(*) FILTER (WHERE ended IS NOT NULL) AS ended,
        count(*) FILTER (WHERE ended = 'dead') AS failed
    FROM redrive_items
    WHERE job_id = %(id)s
) AS tally
WHERE
    job.id = %(id)s
    AND job.state IN ('paused', 'stopped')
    AND NOT EXISTS (
        SELECT 1
        FROM redrive_jobs AS other
        WHERE
            other.fingerprint = job.fingerprint
            AND other.id <> job.id
            AND other.state IN ('running', 'paused')
    );
