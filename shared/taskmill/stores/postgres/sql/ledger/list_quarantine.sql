-- Read a page of the records that were never tasks, latest first, after the previous page.
SELECT
    topic,
    partition,
    "offset",
    member,
    reason,
    octet_length(value) AS size,
    headers::text AS headers,
    round(extract(EPOCH FROM at) * 1000)::bigint AS at_ms,
    round(extract(EPOCH FROM discarded_at) * 1000)::bigint AS discarded_at_ms,
    discarded_by
FROM quarantine
WHERE
    (discarded_at IS NOT NULL) = %(discarded)s
    AND (
        %(after_ms)s::double precision IS NULL
        OR (at, topic, partition, "offset", member) < (
            to_timestamp(%(after_ms)s::double precision / 1000.0),
            %(topic)s::text,
            %(partition)s::integer,
            %(offset)s::bigint,
            %(member)s::integer
        )
    )
ORDER BY at DESC, topic DESC, partition DESC, "offset" DESC, member DESC
LIMIT %(limit)s;
