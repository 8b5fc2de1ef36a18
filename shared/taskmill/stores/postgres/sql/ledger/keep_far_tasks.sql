-- Record which of these tasks only the ledger keeps until their time comes near.
INSERT INTO far_tasks AS known (task_id, generation, turn, due_at)
SELECT
    id,
    generation,
    turn,
    due_at
FROM tasks
WHERE id = ANY(%(ids)s::uuid []) AND status = 'scheduled'
ORDER BY id
ON CONFLICT (task_id) DO UPDATE SET
    generation = excluded.generation,
    turn = excluded.turn,
    due_at = excluded.due_at
WHERE (known.generation, known.turn) < (excluded.generation, excluded.turn);
