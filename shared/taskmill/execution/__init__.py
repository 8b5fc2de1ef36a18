"""How a task runs: claimed, performed, settled."""
