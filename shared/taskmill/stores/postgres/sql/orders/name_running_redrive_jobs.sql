-- List the running redrive jobs.
SELECT id::text AS id
FROM redrive_jobs
WHERE state = 'running'
ORDER BY id;
