"""A system that is harmed in every way; it ends with the folder."""
