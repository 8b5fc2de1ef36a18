"""The metrics of each port: a watcher for every counted call."""
