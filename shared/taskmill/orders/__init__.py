"""What people do to a task: cancel, change, redrive."""
