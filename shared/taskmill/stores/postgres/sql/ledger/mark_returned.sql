-- Mark a batch as returned to its topic. Repeated, the first time stays.
UPDATE quarantine
SET
    discarded_at = now(),
    discarded_by = %(by)s
WHERE
    topic = %(topic)s
    AND partition = %(partition)s
    AND "offset" = %(offset)s
    AND member = %(member)s
    AND discarded_at IS NULL;
