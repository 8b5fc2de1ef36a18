-- Read complete tasks.
SELECT *
FROM whole_tasks
WHERE id = ANY(%(ids)s::uuid []);
