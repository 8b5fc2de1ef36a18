"""One step function for each Lua script, of the same name, for comparison side by side."""
