"""The values that every subject shares: plain Python, no I/O."""
