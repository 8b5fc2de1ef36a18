"""Aggregates the metrics of functions and platform for Prometheus."""
