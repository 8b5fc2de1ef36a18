-- Read the payload of one task as it was given, of this generation only: a key that was used again
-- names another task.
SELECT payload::text AS payload
FROM tasks
WHERE id = %(id)s AND generation = %(generation)s AND submission IS NOT NULL;
