"""A home that the stores' own account may enter, and helpers for processes."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))  # pytest's own are closed to others
    folder.chmod(0o755)
    yield folder / "süßes Heim"
    shutil.rmtree(folder)
