"""What each port counts: a module for each subject, a watcher for each call that is counted."""
