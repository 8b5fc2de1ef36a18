"""Kafka event-source mappings: feed functions from topics in batches, as the platform does."""
