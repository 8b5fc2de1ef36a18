"""Dispatch: tasks are routed, delayed, parked and published when due."""
