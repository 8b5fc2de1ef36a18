"""Kafka mappings, tested with one broker for the whole folder."""
