"""`taskmill demo`: a short play in which tasks go through the whole system."""
