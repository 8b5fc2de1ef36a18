-- Enqueue a fire that a person requested, and record it as the latest.
WITH triggered AS (
    UPDATE schedules
    SET
        last_nominal_at = to_timestamp(%(nominal_ms)s::bigint / 1000.0),
        last_fired_at = clock_timestamp(),
        last_task_id = %(task_id)s,
        open_tasks = (open_tasks || %(task_id)s::uuid)[greatest(
            cardinality(open_tasks) + 2 - %(most)s, 1
        ):],
        fired = fired + 1
    WHERE tenant = %(tenant)s AND name = %(name)s AND revision = %(revision)s
    RETURNING tenant
)

INSERT INTO enqueued (tenant, task_id, submission, request)
SELECT
    tenant,
    %(task_id)s,
    %(submission)s,
    %(request)s
FROM triggered
RETURNING id;
