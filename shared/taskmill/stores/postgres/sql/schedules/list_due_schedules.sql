-- List the due schedules, longest waiting first, up to the size limit but at least one. Nothing is
-- locked: a scheduler that comes too late changes nothing. The comparison uses values that are
-- constant within a statement: only then does the index scan stop at now.
WITH head AS (
    SELECT
        look_at,
        octet_length(definition::text) AS octets
    FROM schedules
    WHERE look_at <= now() AND revision <> ALL(%(unreadable)s::bigint [])
    ORDER BY look_at
    LIMIT %(most)s
),

line AS (
    SELECT sum(octets) OVER (ORDER BY look_at ROWS UNBOUNDED PRECEDING) - octets AS octets_before
    FROM head
),

room AS (
    SELECT
        count(*) AS found,
        count(*) FILTER (WHERE octets_before < %(octets)s) AS fitting
    FROM line
)

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
    NULL AS refused_code,
    NULL AS refused_detail,
    (SELECT found = %(most)s OR found > fitting FROM room) AS has_more,
    floor(extract(EPOCH FROM now()) * 1000)::bigint AS now_ms
FROM schedules
WHERE
    schedules.look_at <= now()
    AND schedules.revision <> ALL(%(unreadable)s::bigint [])
ORDER BY schedules.look_at
LIMIT (SELECT fitting FROM room);
