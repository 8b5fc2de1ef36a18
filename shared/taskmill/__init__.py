"""The layer: what every function of the queue shares."""

__version__ = "0.1.0"
