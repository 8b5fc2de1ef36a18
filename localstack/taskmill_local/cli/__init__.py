"""The `taskmill` command."""

from taskmill_local.cli.entry import main

__all__ = ["main"]
