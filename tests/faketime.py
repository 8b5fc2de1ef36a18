"""A clock that a process did not choose: libfaketime, which its package brings for Linux on x86."""

from importlib.util import find_spec
from pathlib import Path

import pytest

_PACKAGE = find_spec("libfaketime")
LIBRARY = (
    Path(_PACKAGE.origin).parent / "vendor/libfaketime/src/libfaketime.so.1"
    if _PACKAGE and _PACKAGE.origin
    else None
)
needs_faketime = pytest.mark.skipif(
    LIBRARY is None or not LIBRARY.exists(), reason="libfaketime has no library for this machine"
)


def shifted(offset):
    """Return what a process must find in its environment to be off by so much: `+1h`."""
    return _preloaded() | {"FAKETIME": offset}


def shifted_by_file(file):
    """Return what lets a process read, at each look at its clock, by how much it is off."""
    return _preloaded() | {"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}


def _preloaded():
    # Without the second one waits would be shifted, too, which no clock on a wall can do.
    return {"LD_PRELOAD": str(LIBRARY), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
