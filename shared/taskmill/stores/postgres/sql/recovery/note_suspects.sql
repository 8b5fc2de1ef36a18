-- Note tasks to be looked at again, by whichever scheduler; noted twice, they stand once.
INSERT INTO unfinished (task_id)
SELECT unnest(%(ids)s::uuid [])
ON CONFLICT DO NOTHING;
