"""Reads the SAM template and says, as plain values, what it asks the platform to run."""
