"""The ledger: facts folded into rows, and queries over them."""
