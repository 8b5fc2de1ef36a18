-- Note those tasks as unfinished whose age the window may have passed already, by the clock that
-- moves it, except far ones. Ended ones are removed again, and duplicates are stored once.
INSERT INTO unfinished (task_id)
SELECT told.id
FROM unnest(%(ids)s::uuid [], %(created_ms)s::bigint []) AS told (id, created_ms)
WHERE
    told.created_ms < extract(EPOCH FROM now()) * 1000 - %(late_ms)s
    AND NOT EXISTS (SELECT 1 FROM far_tasks AS far WHERE far.task_id = told.id)
ON CONFLICT DO NOTHING;
