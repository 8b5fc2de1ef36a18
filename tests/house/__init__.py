"""Counts how much of the tree one has to read: `make house`."""
