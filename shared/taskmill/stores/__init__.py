"""Adapters for Redis, PostgreSQL, Kafka and S3, and in-memory versions of all of them."""
