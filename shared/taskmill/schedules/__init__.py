"""Tasks that are submitted repeatedly, by a calendar."""
