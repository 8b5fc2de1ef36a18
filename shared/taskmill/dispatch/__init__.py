"""Routes, delays and parks tasks, and publishes them when due."""
