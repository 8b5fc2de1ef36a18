-- Note tasks to be checked again by any scheduler; duplicates are stored once.
INSERT INTO unfinished (task_id)
SELECT unnest(%(ids)s::uuid [])
ON CONFLICT DO NOTHING;
