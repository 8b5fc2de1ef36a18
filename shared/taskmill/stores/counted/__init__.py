"""Ports that count what passes through them; the one that they wrap does the work."""
