-- Read one of the records that were never tasks, with its content.
SELECT
    topic,
    partition,
    "offset",
    member,
    reason,
    octet_length(value) AS size,
    value,
    headers::text AS headers,
    round(extract(EPOCH FROM at) * 1000)::bigint AS at_ms,
    round(extract(EPOCH FROM discarded_at) * 1000)::bigint AS discarded_at_ms,
    discarded_by
FROM quarantine
WHERE
    topic = %(topic)s
    AND partition = %(partition)s
    AND "offset" = %(offset)s
    AND member = %(member)s;
