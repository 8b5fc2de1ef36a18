"""The tests. A folder is a package when its shared fixtures must end with it."""
