-- Keep a record that was never a task. Its place in the log is its name: told twice, kept once.
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
