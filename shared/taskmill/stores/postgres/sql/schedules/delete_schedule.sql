-- Delete a schedule that nobody changed since it was seen. What it enqueued stays.
DELETE FROM schedules
WHERE tenant = %(tenant)s AND name = %(name)s AND revision = %(revision)s
RETURNING name;
