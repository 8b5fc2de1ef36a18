"""Claims, runs and settles tasks."""
