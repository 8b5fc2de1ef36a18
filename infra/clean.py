"""Removes the data that `make up` keeps in a taskmill home, and nothing else."""

import fcntl
import os
import shutil
import sys
from pathlib import Path

LOCK = "lock"
STORES = "stores"
KEPT = (STORES, "logs", "bucket", "bucket.ports", "orders", "webhook_secrets.json", ".probe", LOCK)
"""Files of the local platform; the lock is removed last."""


class Refused(Exception):
    """Nothing was removed; the message explains why."""


def clean(home: Path) -> str:
    """Empty a home and return a sentence that describes the result."""
    if not home.exists():
        return f"{home} does not exist: there is nothing to remove."
    if not (home / LOCK).is_file() or not (home / STORES).is_dir():
        raise Refused(
            f"{home} is not a taskmill home; nothing was removed. "
            "Is TASKMILL_HOME set as it was for `make up`?"
        )
    lock = _held(home)
    try:
        for name in KEPT:
            _remove(home / name)
    finally:
        os.close(lock)
    return _without_folder(home)


def _held(home: Path) -> int:
    """Lock the home so that no system starts on it meanwhile."""
    lock = os.open(home / LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 20, 0).decode() or "unknown"
        os.close(lock)
        raise Refused(
            f"A system (process {holder}) is running on {home}; nothing was removed. Stop it first."
        ) from None
    return lock


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _without_folder(home: Path) -> str:
    others = sorted(path.name for path in home.iterdir())
    if others:
        return f"The data in {home} was removed. Other files were kept: {_list(others)}."
    if not home.is_symlink():
        home.rmdir()
    return f"{home} was removed."


def _list(names: list[str]) -> str:
    more = [f"and {len(names) - 3} more"] if len(names) > 3 else []  # noqa: PLR2004 - enough to decide
    return ", ".join([*names[:3], *more])


def main() -> int:
    home = Path(os.environ.get("TASKMILL_HOME") or ".taskmill")
    try:
        print(clean(home))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{home} cannot be emptied: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
