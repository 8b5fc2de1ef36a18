"""A function that fails while its module is imported."""

raise RuntimeError("no settings")
