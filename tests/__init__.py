"""The tests. A folder is a package when what its tests share is to end with it."""
