"""Parts of the local platform, tested with the real counterparts that they talk to."""
