"""Fault tests of in-memory systems, which share no system."""
