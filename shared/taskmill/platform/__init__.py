"""The process of a function: start, logging, metrics and shutdown."""
