-- Hold a running redrive job; one that another scheduler holds is passed over.
SELECT id::text AS id
FROM redrive_jobs
WHERE id = %(id)s AND state = 'running'
FOR UPDATE SKIP LOCKED;
