"""Admission: a key names the task, and a 202 is a promise."""
