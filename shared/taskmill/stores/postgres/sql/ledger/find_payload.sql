-- Read the payload of a task unchanged, for this generation only: a reused key names another task.
SELECT payload::text AS payload
FROM tasks
WHERE id = %(id)s AND generation = %(generation)s AND submission IS NOT NULL;
