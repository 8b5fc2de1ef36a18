"""The layer: what every function of the queue shares."""
