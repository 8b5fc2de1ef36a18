"""Whole systems, over HTTP and by the command; the shared one ends with this folder."""
