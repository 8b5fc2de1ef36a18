"""Holds what waits, in order, and gives it to workers with free places."""
