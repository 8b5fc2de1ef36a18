"""Collects each type's contribution to the reference pages from its `reference.py`."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

_WORKERS = Path(__file__).parents[2] / "functions/workers"


def references() -> Iterator[Any]:
    """Yield the module of each folder that has one, with TITLE, SETTINGS and LIMITS."""
    for path in sorted(_WORKERS.glob("*/reference.py")):
        yield import_module(f"functions.workers.{path.parent.name}.reference")
