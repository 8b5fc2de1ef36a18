"""Execution: from a queued task to its end in the ledger, whatever dies or loses data."""
