-- Read tasks whole.
SELECT *
FROM whole_tasks
WHERE id = ANY(%(ids)s::uuid []);
