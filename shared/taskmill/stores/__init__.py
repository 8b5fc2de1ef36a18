"""The adapters: Redis, PostgreSQL, Kafka, S3, and all of them in memory."""
