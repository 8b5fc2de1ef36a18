-- Read the payload of one task as it was given.
SELECT payload::text AS payload
FROM tasks
WHERE id = %(id)s AND submission IS NOT NULL;
