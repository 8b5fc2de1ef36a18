-- Note tasks as unfinished; who has ended leaves again. Noted twice, they stand once.
INSERT INTO unfinished (task_id)
SELECT late.id
FROM unnest(%(ids)s::uuid []) AS late (id)
ON CONFLICT DO NOTHING;
