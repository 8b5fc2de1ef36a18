"""The Lambda layer that all functions of the queue share."""

__version__ = "0.2.0.dev0"
