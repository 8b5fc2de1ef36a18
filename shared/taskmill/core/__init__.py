"""Values shared by all subjects: plain Python, no I/O."""
