-- Name the redrive jobs that run.
SELECT id::text AS id
FROM redrive_jobs
WHERE state = 'running'
ORDER BY id;
