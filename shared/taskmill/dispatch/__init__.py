"""How a task gets in line: routed, delayed, parked, published when due."""
