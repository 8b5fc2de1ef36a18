-- Insert requests; duplicates are stored, too.
INSERT INTO enqueued (tenant, task_id, submission, request)
SELECT
    told.tenant,
    told.task_id,
    told.submission,
    told.request::json
FROM unnest(
    %(tenants)s::text [], %(ids)s::uuid [], %(submissions)s::text [], %(requests)s::text []
) AS told (tenant, task_id, submission, request);
