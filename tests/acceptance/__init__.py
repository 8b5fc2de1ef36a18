"""Whole systems, over HTTP and by the command; the one that is shared ends with the folder."""
