"""Reads, checks, admits and publishes requests for tasks."""
