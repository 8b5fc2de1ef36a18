"""A false system clock for processes: libfaketime, whose package includes Linux on x86."""

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
    """Return the environment of a process with a shifted clock, such as `+1h`."""
    return _preloaded() | {"FAKETIME": offset}


def shifted_by_file(file):
    """Return the environment of a process that reads its clock's offset from a file each time."""
    return _preloaded() | {"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}


def _preloaded():
    # Without the second one waits would be shifted, too, which no clock on a wall can do.
    return {"LD_PRELOAD": str(LIBRARY), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
