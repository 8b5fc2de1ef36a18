"""Kafka event-source mappings: topics feed functions in batches, as the platform's pollers do."""
