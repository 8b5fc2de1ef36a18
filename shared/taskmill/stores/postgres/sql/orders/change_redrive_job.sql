-- Change the state of a redrive job, with the reason.
UPDATE redrive_jobs
SET
    state = %(state)s,
    why = %(why)s,
    changed_at = clock_timestamp()
WHERE id = %(id)s AND state = ANY(%(known)s);
