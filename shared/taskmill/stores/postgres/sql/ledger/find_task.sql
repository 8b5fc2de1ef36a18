-- Read one task as readers see it.
SELECT *
FROM shown_tasks
WHERE id = %(id)s;
