"""A system with every kind of fault; it ends with this folder."""
