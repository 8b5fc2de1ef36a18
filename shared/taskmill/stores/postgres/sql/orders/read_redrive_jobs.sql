-- Read redrive jobs with the results of their tasks, latest first.
SELECT
    job.id::text AS id,
    job.wanted::text AS wanted,
    job.rate_per_second,
    job.state,
    job.why,
    job.total,
    job.redriven_before,
    job.ended_before,
    job.failed_before,
    tally.redriven,
    tally.skipped,
    tally.succeeded,
    tally.failed,
    tally.cancelled,
    round(extract(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now_ms,
    round(extract(EPOCH FROM job.paced_at) * 1000)::bigint AS paced_at_ms,
    round(extract(EPOCH FROM job.created_at) * 1000)::bigint AS created_at_ms,
    round(extract(EPOCH FROM job.changed_at) * 1000)::bigint AS changed_at_ms
FROM redrive_jobs AS job
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE item.next_generation IS NOT NULL) AS redriven,
        count(*) FILTER (WHERE item.skipped) AS skipped,
        count(*) FILTER (WHERE item.ended = 'succeeded') AS succeeded,
        count(*) FILTER (WHERE item.ended = 'dead') AS failed,
        count(*) FILTER (WHERE item.ended = 'cancelled') AS cancelled
    FROM redrive_items AS item
    WHERE item.job_id = job.id
) AS tally
WHERE
    (%(id)s::uuid IS NULL OR job.id = %(id)s::uuid)
    AND (%(tenant)s::text IS NULL OR job.tenant = %(tenant)s)
    AND (
        %(fingerprint)s::text IS NULL
        OR (job.fingerprint = %(fingerprint)s AND job.state IN ('running', 'paused'))
    )
ORDER BY job.created_at DESC, job.id DESC
LIMIT %(limit)s;
