-- Read the task that is not yet published: what was admitted comes before what was deferred.
SELECT envelope::text AS envelope
FROM outbox
WHERE task_id = %(id)s AND published_at IS NULL
ORDER BY generation = 0, generation DESC, id
LIMIT 1;
