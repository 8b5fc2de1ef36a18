"""What a function's process needs: start, log lines, metrics, shutdown."""
