"""Queue depths, waits and throughput."""
