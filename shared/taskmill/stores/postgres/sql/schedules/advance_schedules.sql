-- Fire schedules that are still as they were read: update them and enqueue their requests, all or
-- nothing. Schedules that another scheduler is firing are skipped.
WITH told AS (
    SELECT step.*
    FROM json_to_recordset(%(steps)s::json) AS step (
        tenant text,
        name text,
        revision bigint,
        seen_ms bigint,
        seen_task_id uuid,
        next_at_ms bigint,
        look_at_ms bigint,
        decided_at_ms bigint,
        held_ms json,
        fired integer,
        skipped integer,
        missed integer,
        nominal_ms bigint,
        task_id uuid,
        open_tasks json
    )
),

held AS (
    SELECT told.*
    FROM schedules
    INNER JOIN told ON schedules.tenant = told.tenant AND schedules.name = told.name
    WHERE
        schedules.revision = told.revision
        AND schedules.next_at = to_timestamp(told.seen_ms / 1000.0)
        AND schedules.last_task_id IS NOT DISTINCT FROM told.seen_task_id
    FOR UPDATE OF schedules SKIP LOCKED
),

moved AS (
    UPDATE schedules
    SET
        next_at = to_timestamp(held.next_at_ms / 1000.0),
        look_at = to_timestamp(held.look_at_ms / 1000.0),
        decided_at = to_timestamp(held.decided_at_ms / 1000.0),
        held_ms = ARRAY(SELECT json_array_elements_text(held.held_ms)::bigint),
        fired = schedules.fired + held.fired,
        skipped = schedules.skipped + held.skipped,
        missed = schedules.missed + held.missed,
        last_nominal_at = coalesce(
            to_timestamp(held.nominal_ms / 1000.0), schedules.last_nominal_at
        ),
        last_fired_at = CASE
            WHEN held.task_id IS NULL THEN schedules.last_fired_at ELSE clock_timestamp()
        END,
        last_task_id = coalesce(held.task_id, schedules.last_task_id),
        open_tasks = ARRAY(SELECT json_array_elements_text(held.open_tasks)::uuid)
    FROM held
    WHERE schedules.tenant = held.tenant AND schedules.name = held.name
    RETURNING schedules.tenant, schedules.name
),

added AS (
    INSERT INTO enqueued (tenant, task_id, submission, request)
    SELECT
        moved.tenant,
        fire.task_id,
        fire.submission,
        fire.request
    FROM json_to_recordset(%(fires)s::json) AS fire (
        place integer,
        tenant text,
        name text,
        task_id uuid,
        submission text,
        request json
    )
    INNER JOIN moved ON fire.tenant = moved.tenant AND fire.name = moved.name
    ORDER BY fire.place
)

SELECT
    tenant,
    name
FROM moved;
