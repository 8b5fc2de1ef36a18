"""What the core needs of the world, in its own words: a module for each subject."""
