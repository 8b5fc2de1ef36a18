"""The commands: a module for each, or for those that are alike."""
