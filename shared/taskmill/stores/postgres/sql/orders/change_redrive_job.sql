-- Let a redrive job go from one state to another, and say why.
UPDATE redrive_jobs
SET
    state = %(state)s,
    why = %(why)s,
    changed_at = clock_timestamp()
WHERE id = %(id)s AND state = ANY(%(known)s);
