"""Counts how much of the tree a reader has to read: `make house`."""
