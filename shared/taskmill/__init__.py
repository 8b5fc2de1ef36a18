"""The Lambda layer that all functions of the queue share."""

__version__ = "0.1.0"
