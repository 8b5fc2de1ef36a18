"""Reads the SAM template and returns, as plain values, what the platform has to run."""
