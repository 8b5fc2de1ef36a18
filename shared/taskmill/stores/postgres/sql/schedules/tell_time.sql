-- Return the time by which everything is due.
SELECT floor(extract(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now_ms;
