-- Remove tasks from the unfinished ones.
DELETE FROM unfinished
WHERE task_id = ANY(%(ids)s::uuid []);
