-- Store a record that was never a task. Its position is its key: a duplicate is stored once.
INSERT INTO quarantine (topic, partition, "offset", member, reason, value, headers, at, version)
VALUES (
    %(topic)s,
    %(partition)s,
    %(offset)s,
    %(member)s,
    %(reason)s,
    %(value)s,
    %(headers)s,
    to_timestamp(%(at_ms)s / 1000.0),
    %(version)s
)
ON CONFLICT DO NOTHING;
