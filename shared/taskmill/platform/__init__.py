"""The process of a function: start, log lines, metrics, shutdown."""
