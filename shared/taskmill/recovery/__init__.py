"""How Redis and the ledger are brought back into agreement."""
