-- Hold a running redrive job, unless another scheduler holds it.
SELECT id::text AS id
FROM redrive_jobs
WHERE id = %(id)s AND state = 'running'
FOR UPDATE SKIP LOCKED;
