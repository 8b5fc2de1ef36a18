"""Brings Redis and the ledger back into agreement."""
