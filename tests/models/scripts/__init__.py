"""One step function for each Lua script, of the same name: read them side by side."""
