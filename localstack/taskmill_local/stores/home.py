"""The folder with the platform's data: created, checked, and locked by one platform."""

import errno
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

from taskmill_local.errors import HomeUnusable

_NEEDED_MB = 200
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "this account may not write there",
    errno.EPERM: "this account may not write there",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a file is in the way of the folder",
    errno.EEXIST: "a file is in the way of the folder",
}


def prepare_home(home: Path) -> None:
    try:
        for folder in (home, home / "stores", home / "logs"):
            _make(folder)
        with tempfile.TemporaryFile(dir=home) as probe:  # another start may be running here as well
            probe.write(b"x")
        free_mb = shutil.disk_usage(home).free // 2**20
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror)
        raise HomeUnusable(
            f"The folder {home} cannot hold the platform's data: {reason}. "
            "Make room or choose another home folder."
        ) from error
    if free_mb < _NEEDED_MB:
        raise HomeUnusable(
            f"Only {free_mb} MB are free on the disk of {home}; the stores need {_NEEDED_MB} MB. "
            "Make room or choose another home folder."
        )


def _make(folder: Path) -> None:
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        # Independent of the umask: for root, PostgreSQL's own account must pass through our
        # folders.
        folder.chmod(0o755)


class HomeLock:
    """Held while a platform runs on its home; the system releases it when the process ends."""

    def __init__(self, home: Path) -> None:
        self._file = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 20, 0).decode() or "unknown"
            os.close(self._file)
            raise HomeUnusable(
                f"Another platform (process {holder}) is running on {home}. "
                "Stop it first or choose another home folder."
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
