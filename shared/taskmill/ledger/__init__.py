"""What happened: facts folded into rows, and how rows are read."""
