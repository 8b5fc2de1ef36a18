-- Read schedules by name, with the reason if the task of the latest fire was refused.
SELECT
    schedules.tenant,
    schedules.name,
    schedules.definition::text AS definition,
    schedules.revision,
    schedules.is_managed,
    schedules.held_ms,
    schedules.paused_by,
    schedules.last_task_id::text AS last_task_id,
    schedules.open_tasks::text [] AS open_tasks,
    schedules.fired,
    schedules.skipped,
    schedules.missed,
    schedules.backfilled,
    round(extract(EPOCH FROM schedules.next_at) * 1000)::bigint AS next_at_ms,
    round(extract(EPOCH FROM schedules.decided_at) * 1000)::bigint AS decided_at_ms,
    round(extract(EPOCH FROM schedules.paused_at) * 1000)::bigint AS paused_at_ms,
    round(extract(EPOCH FROM schedules.last_nominal_at) * 1000)::bigint AS last_nominal_ms,
    round(extract(EPOCH FROM schedules.last_fired_at) * 1000)::bigint AS last_fired_at_ms,
    round(extract(EPOCH FROM schedules.created_at) * 1000)::bigint AS created_at_ms,
    round(extract(EPOCH FROM schedules.changed_at) * 1000)::bigint AS changed_at_ms,
    refused.parked_reason AS refused_code,
    refused.parked_detail AS refused_detail
FROM schedules
LEFT JOIN LATERAL (
    SELECT
        parked_reason,
        parked_detail
    FROM enqueued
    WHERE task_id = schedules.last_task_id AND done_at IS NULL
    ORDER BY parked_at IS NULL DESC, id DESC
    LIMIT 1
) AS refused ON TRUE
WHERE
    schedules.tenant = %(tenant)s
    AND (%(name)s::text IS NULL OR schedules.name = %(name)s)
    AND schedules.name COLLATE "C" > %(after)s
ORDER BY schedules.name COLLATE "C"
LIMIT %(limit)s;
