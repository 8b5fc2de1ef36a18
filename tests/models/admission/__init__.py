"""Admission: a key identifies the task, and a 202 is a promise."""
