-- Pause what a rule is about; a pause that it has is replaced.
WITH book AS (
    UPDATE rule_book
    SET revision = revision + 1
    RETURNING revision
)

INSERT INTO rules (name, value, revision, paused_at, paused_until, paused_by, reason)
SELECT
    %(name)s,
    %(value)s,
    book.revision,
    clock_timestamp(),
    to_timestamp(%(until_ms)s::bigint / 1000.0),
    %(by)s,
    %(reason)s
FROM book
ON CONFLICT (name, value) DO UPDATE SET
    revision = excluded.revision,
    paused_at = excluded.paused_at,
    paused_until = excluded.paused_until,
    paused_by = excluded.paused_by,
    reason = excluded.reason;
