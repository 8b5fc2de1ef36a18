"""What each port counts: a watcher for each call that is counted."""
