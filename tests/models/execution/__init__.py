"""Execution: from a task in line to its end in the ledger, whatever dies or forgets."""
