"""Compares the assembled files with the functions' folders, and notices changed files."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from taskmill_local.errors import PlatformError
from taskmill_local.plan import FunctionPlan

_PROGRAM: Final = Path("infra/assemble.py")
_SOURCES: Final = ("functions", "infra", "shared/taskmill", "template.yaml")
_NOTES: Final = Path(sys.prefix) / "share" / "taskmill"
_PATIENCE_SECONDS: Final = 60
_REMEDY: Final = "run `make template`"
Files = Mapping[str, tuple[int, int]]
"""Each file with its size and modification time."""


class Stale(PlatformError):
    """The assembled files do not match the folders."""


def check_assembled(root: Path, *, notes: Path = _NOTES) -> str | None:
    """Raise when the template is stale; return the reason when that could not be checked.

    Nothing is compared again until a file changes.
    """
    if not (root / _PROGRAM).is_file():
        return None
    note = notes / f"assembled-{_digest(str(root.resolve()))}"
    state = _digest(json.dumps(files_of(root / source for source in _SOURCES)))
    with suppress(OSError):
        if note.read_text() == state:
            return None
    if words := _compared(root):
        return words
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(state)
    return None


def files_of(places: Iterable[Path]) -> Files:
    """Return the files at these places, without Python's own bytecode."""
    files: dict[str, tuple[int, int]] = {}
    for place in places:
        for path in sorted(place.rglob("*") if place.is_dir() else [place]):
            if "__pycache__" in path.parts:
                continue
            with suppress(OSError):  # it may be removed meanwhile
                about = path.stat()
                if path.is_file():
                    files[str(path)] = (about.st_size, about.st_mtime_ns)
    return files


def folder_of(plan: FunctionPlan) -> Path:
    """Return the folder of a handler: a/b for a.b.handler.lambda_handler."""
    return plan.code.joinpath(*plan.handler.split(".")[:-2])


def _compared(root: Path) -> str | None:
    """Run the assembler; an invalid folder only affects its own type."""
    try:
        comparison = subprocess.run(
            [sys.executable, str(_PROGRAM), "--check"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the template was not compared with the folders: {error}"
    stale = [line for line in comparison.stdout.splitlines() if line.endswith(_REMEDY)]
    if stale:
        raise Stale(f"{'; '.join(stale)} and start again.")
    if comparison.returncode != 0:
        words = (
            comparison.stderr.strip() or comparison.stdout.strip() or "no reason was given"
        ).splitlines()
        return f"the template was not compared with the folders: {words[-1]}"
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
