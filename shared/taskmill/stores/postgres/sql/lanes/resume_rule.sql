-- End the pause of a rule.
WITH book AS (
    UPDATE rule_book
    SET revision = revision + 1
    RETURNING revision
)

UPDATE rules
SET
    revision = book.revision,
    paused_at = NULL,
    paused_until = NULL,
    paused_by = NULL,
    reason = NULL
FROM book
WHERE rules.name = %(name)s AND rules.value = %(value)s;
