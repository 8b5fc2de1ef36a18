"""What is counted here, added up for Prometheus."""
