"""Assembles the template, catalogue, schedules, API description and reference pages."""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    # Read only from beside this file, whatever is installed: a copy of the project assembles
    # itself.
    sys.path[:0] = [str(ROOT), str(ROOT / "shared")]
    sys.exit(import_module("infra.assembly").main())
