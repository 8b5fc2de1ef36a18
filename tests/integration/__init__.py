"""Parts of the local platform, each beside the real thing that it speaks to."""
