"""The composition root: the one place that chooses adapters, on first use; a module per function.

Adapters are imported where they are bound: at its cold start a function pays only for the clients
that it uses.
"""
