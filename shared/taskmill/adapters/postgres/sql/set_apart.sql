-- Note those tasks as unfinished whose age the window may have passed already, by the clock that
-- moves it. Who has ended leaves again. Noted twice, they stand once.
INSERT INTO unfinished (task_id)
SELECT told.id
FROM unnest(%(ids)s::uuid [], %(created_ms)s::double precision []) AS told (id, created_ms)
WHERE told.created_ms < extract(EPOCH FROM now()) * 1000 - %(late_ms)s
ON CONFLICT DO NOTHING;
