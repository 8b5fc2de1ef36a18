"""`taskmill demo`: runs sample tasks through the whole system."""
