"""Recovery: brings Redis and the ledger back into agreement."""
