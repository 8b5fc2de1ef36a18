-- Change a schedule that is still as it was read.
UPDATE schedules
SET
    definition = %(definition)s,
    revision = nextval('schedule_revisions'),
    is_managed = %(is_managed)s,
    next_at = to_timestamp(%(next_at_ms)s::bigint / 1000.0),
    look_at = to_timestamp(%(next_at_ms)s::bigint / 1000.0),
    decided_at = to_timestamp(%(decided_at_ms)s::bigint / 1000.0),
    held_ms = %(held_ms)s::bigint [],
    skipped = skipped + %(skipped)s,
    missed = missed + %(missed)s,
    paused_at = to_timestamp(%(paused_at_ms)s::bigint / 1000.0),
    paused_by = %(paused_by)s,
    changed_at = clock_timestamp()
WHERE
    tenant = %(tenant)s
    AND name = %(name)s
    AND revision = %(revision)s
    AND next_at IS NOT DISTINCT FROM to_timestamp(%(seen_ms)s::bigint / 1000.0)
RETURNING name;
