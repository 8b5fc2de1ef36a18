"""How much waits, for how long, and how fast it is done."""
