"""The account that runs PostgreSQL for root, and its access to closed folders."""

import hashlib
import os
import pwd
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from taskmill_local.errors import HomeUnusable

STAND_IN: Final = "nobody"
_COPIES: Final = Path("/var/lib/taskmill")
_NEEDED: Final = ("bin", "lib", "share")
_OPEN_FILES: Final = Path("/proc/self/fd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of a process, and the folders opened for it."""

    user: str | None = None
    open_folders: tuple[int, ...] = ()


OURSELVES: Final = Account()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A server's programs and folder, as its account sees them."""

    programs: Path
    folder: Path
    account: Account = OURSELVES


@contextmanager
def ground_for(folder: Path, programs: Path, *, copies: Path = _COPIES) -> Iterator[Ground]:
    """Give the folder to the account, with a path to it that no closed folder blocks.

    A folder handed over as an open descriptor is accessible to processes that inherit it, wherever
    it is. Programs are looked up by path: those in a closed folder are copied and run from the
    copy.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        yield Ground(programs=programs, folder=folder)
        return
    account = pwd.getpwnam(STAND_IN)
    os.chown(folder, account.pw_uid, account.pw_gid)
    if is_barred(programs / "bin" / "postgres"):
        programs = _copied(programs, copies)
    if not is_barred(folder):
        yield Ground(programs=programs, folder=folder, account=Account(user=STAND_IN))
        return
    if sys.platform != "linux":
        raise HomeUnusable(_sentence(folder))
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        stand_in = Account(user=STAND_IN, open_folders=(number,))
        yield Ground(programs=programs, folder=_OPEN_FILES / str(number), account=stand_in)
    finally:
        os.close(number)


def is_barred(path: Path) -> bool:
    """Return whether other accounts cannot reach the path."""
    resolved = path.resolve()
    is_closed = not resolved.is_dir() and not resolved.stat().st_mode & stat.S_IXOTH
    return is_closed or any(not one.stat().st_mode & stat.S_IXOTH for one in resolved.parents)


def _copied(programs: Path, copies: Path) -> Path:
    """Copy the programs to a place open to everybody, once per version."""
    place = copies / f"postgresql-{_version(programs)}"
    try:
        if not place.is_dir():
            _copy(programs, place)
    except OSError as error:
        raise HomeUnusable(
            f"{_sentence(programs)} They could not be copied to {copies}: {error}."
        ) from error
    copy = place / _tail(programs)
    if place.stat().st_uid != 0 or is_barred(copy / "bin" / "postgres"):
        raise HomeUnusable(f"{_sentence(programs)} {place} is not a copy that root made.")
    return copy


def _copy(programs: Path, place: Path) -> None:
    place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=place.parent, prefix=".unfinished-"))
    try:
        for part in _NEEDED:
            copy = unfinished / _tail(programs) / part
            shutil.copytree(programs / part, copy, symlinks=True)
        libraries = programs.parent.with_suffix(".libs")  # where wheels keep them
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        for path in (unfinished, *unfinished.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
        with suppress(FileExistsError):  # another start was faster
            unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _tail(programs: Path) -> Path:
    """Return the part of the path by which programs and libraries find each other."""
    return Path(programs.parent.name, programs.name)


def _version(programs: Path) -> str:
    about = (programs / "bin" / "postgres").stat()
    identity = f"{programs} {about.st_size} {about.st_mtime_ns}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def _sentence(place: Path) -> str:
    return (
        f"PostgreSQL refuses to run as root, so it runs as '{STAND_IN}', which cannot access "
        f"{place}. Run as an ordinary user, or keep the project and its home in a folder that "
        "everybody may enter."
    )
