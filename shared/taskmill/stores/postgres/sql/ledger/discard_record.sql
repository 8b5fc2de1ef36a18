-- Mark a record of the quarantine as discarded; the first author stays.
UPDATE quarantine AS known
SET
    discarded_at = COALESCE(known.discarded_at, to_timestamp(%(at_ms)s / 1000.0)),
    discarded_by = COALESCE(known.discarded_by, %(by)s)
WHERE
    known.topic = %(topic)s
    AND known.partition = %(partition)s
    AND known."offset" = %(offset)s
    AND known.member = %(member)s
RETURNING
    known.topic,
    known.partition,
    known."offset",
    known.member,
    known.reason,
    octet_length(known.value) AS size,
    known.headers::text AS headers,
    round(extract(EPOCH FROM known.at) * 1000)::bigint AS at_ms,
    round(extract(EPOCH FROM known.discarded_at) * 1000)::bigint AS discarded_at_ms,
    known.discarded_by;
