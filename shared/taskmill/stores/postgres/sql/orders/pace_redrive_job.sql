-- Record when a redrive job's pace started to count.
UPDATE redrive_jobs
SET paced_at = to_timestamp(%(paced_at_ms)s / 1000.0)
WHERE id = %(id)s;
