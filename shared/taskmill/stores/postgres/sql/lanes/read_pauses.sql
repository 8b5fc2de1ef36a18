-- Return the revision of the rule book and every pause in it, also those whose end has come: one row
-- without a pause if there is none.
SELECT
    rule_book.revision,
    rules.name,
    rules.value,
    round(extract(EPOCH FROM rules.paused_at) * 1000)::bigint AS paused_at_ms,
    round(extract(EPOCH FROM rules.paused_until) * 1000)::bigint AS paused_until_ms,
    rules.paused_by,
    rules.reason
FROM rule_book
LEFT JOIN rules ON rules.paused_at IS NOT NULL;
