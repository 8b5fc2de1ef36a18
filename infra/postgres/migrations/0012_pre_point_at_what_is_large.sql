-- Where payloads and results stand that are too large for a row. May run at any time before the code.
ALTER TABLE tasks
ADD COLUMN payload_ref json,
ADD COLUMN result_ref json,
ADD CONSTRAINT only_success_points_at_a_result CHECK (
    result_ref IS NULL OR status = 'succeeded'
);
