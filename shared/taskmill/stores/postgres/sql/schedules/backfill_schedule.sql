-- Enqueue past instants of a schedule, and count them.
WITH known AS (
    UPDATE schedules
    SET backfilled = backfilled + json_array_length(%(fires)s::json)
    WHERE tenant = %(tenant)s AND name = %(name)s AND revision = %(revision)s
    RETURNING tenant
)

INSERT INTO enqueued (tenant, task_id, submission, request)
SELECT
    known.tenant,
    fire.task_id,
    fire.submission,
    fire.request
FROM json_to_recordset(%(fires)s::json) AS fire (
    place integer,
    task_id uuid,
    submission text,
    request json
)
CROSS JOIN known
ORDER BY fire.place
RETURNING id;
