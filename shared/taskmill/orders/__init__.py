"""Orders on a task: cancel, change, redrive."""
