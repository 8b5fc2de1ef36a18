-- Delete a schedule that was not changed since it was read. Its enqueued requests stay.
DELETE FROM schedules
WHERE tenant = %(tenant)s AND name = %(name)s AND revision = %(revision)s
RETURNING name;
