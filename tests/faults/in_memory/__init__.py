"""What the faults do to twins in memory: no system is shared here."""
