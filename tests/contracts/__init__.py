"""The contracts of the ports, run against memory and against real servers."""
