-- Insert a schedule, unless there is one of that name.
INSERT INTO schedules (
    tenant, name, definition, is_managed, next_at, look_at, decided_at, held_ms, paused_at, paused_by,
    created_at, changed_at
)
VALUES (
    %(tenant)s,
    %(name)s,
    %(definition)s,
    %(is_managed)s,
    to_timestamp(%(next_at_ms)s::bigint / 1000.0),
    to_timestamp(%(next_at_ms)s::bigint / 1000.0),
    to_timestamp(%(decided_at_ms)s::bigint / 1000.0),
    %(held_ms)s::bigint [],
    to_timestamp(%(paused_at_ms)s::bigint / 1000.0),
    %(paused_by)s,
    clock_timestamp(),
    clock_timestamp()
)
ON CONFLICT (tenant, name) DO NOTHING
RETURNING name;
