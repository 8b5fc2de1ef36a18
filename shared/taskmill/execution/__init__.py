"""Execution: tasks are claimed, run and settled."""
