"""Tasks that are submitted again and again, by a calendar."""
