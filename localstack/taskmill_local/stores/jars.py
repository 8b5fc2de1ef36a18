"""Installs the broker's jars: exactly those of the lock file, by name and SHA-256."""

import hashlib
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from taskmill_local.errors import JarsUnusable

LOCK = Path(__file__).with_name("jars.lock")
FOLDER = Path(sys.prefix) / "share" / "taskmill" / "kafka"
COMMAND = "python -m taskmill_local.stores.jars"
_ROOTS = (
    "org.apache.kafka:kafka_2.13:4.3.1",
    "org.slf4j:slf4j-simple:1.7.36",  # the broker's logging, with a hundredth of log4j's start time
)
_HEADER = f"# The broker's jars with their SHA-256; written by `{COMMAND} lock`.\n"
_AT_ONCE = 6
_PROGRESS_STEP = 10


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Jar:
    coordinate: str
    sha256: str

    @property
    def name(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def read_lock(lock: Path = LOCK) -> tuple[Jar, ...]:
    lines = (line.split() for line in lock.read_text().splitlines() if not line.startswith("#"))
    return tuple(Jar(coordinate=coordinate, sha256=digest) for coordinate, digest in lines)


def class_path(folder: Path = FOLDER, lock: Path = LOCK) -> str:
    """Return the jars in a fixed order: the class-data archive depends on the class path."""
    paths = [folder / jar.name for jar in read_lock(lock)]
    stamp = _stamp_of(folder)
    is_installed = stamp.exists() and stamp.read_text() == _digest(lock)
    if not is_installed or not all(path.exists() for path in paths):
        raise JarsUnusable(f"The Kafka broker's jars are missing. Run `{COMMAND} install`.")
    return ":".join(map(str, paths))


def install(folder: Path = FOLDER, lock: Path = LOCK, cache: Path | None = None) -> int:
    """Download what is missing or damaged and return the number of jars."""
    folder.mkdir(parents=True, exist_ok=True)
    jars = read_lock(lock)
    missing = [jar for jar in jars if not _is_sound(folder / jar.name, jar)]
    if missing:
        with tempfile.TemporaryDirectory(dir=folder) as download:
            _bring(missing, folder, cache or Path(download))
    stamp = _stamp_of(folder)
    if missing or not stamp.exists() or stamp.read_text() != _digest(lock):
        _remove_strangers(folder, jars)
        stamp.write_text(_digest(lock))
    return len(missing)


def write_lock(lock: Path = LOCK) -> None:
    from jgo.maven import MavenContext, PythonResolver

    with tempfile.TemporaryDirectory() as cache:
        maven = MavenContext(repo_cache=Path(cache), resolver=PythonResolver())
        dependencies = [maven.create_dependency(root) for root in _ROOTS]
        roots, others = maven.resolver.resolve(dependencies)
        jars = [
            Jar(
                coordinate=f"{dependency.groupId}:{dependency.artifactId}:{dependency.version}",
                sha256=_digest(dependency.artifact.resolve()),
            )
            for dependency in (*roots, *others)
        ]
    lock.write_text(_HEADER + "".join(f"{jar.coordinate} {jar.sha256}\n" for jar in sorted(jars)))


def _bring(jars: Sequence[Jar], folder: Path, cache: Path) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        downloads = [threads.submit(_fetch, jar, folder, cache) for jar in jars]
        try:
            for count, download in enumerate(as_completed(downloads), start=1):
                download.result()
                if count % _PROGRESS_STEP == 0 or count == len(jars):
                    sys.stderr.write(f"Kafka: {count} of {len(jars)} jars\n")
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def _fetch(jar: Jar, folder: Path, cache: Path) -> None:
    from jgo.maven import MavenContext, PythonResolver

    maven = MavenContext(repo_cache=cache, resolver=PythonResolver(), timeout=30)
    try:
        path: Path = maven.create_dependency(jar.coordinate).artifact.resolve()
    except (OSError, RuntimeError) as error:
        raise JarsUnusable(
            f"{jar.coordinate} cannot be downloaded: {error}. "
            f"Check the network and run `{COMMAND} install` again."
        ) from error
    if not _is_sound(path, jar):
        raise JarsUnusable(
            f"{jar.coordinate} does not match {LOCK.name}: its SHA-256 is {_digest(path)} "
            f"but should be {jar.sha256}. Do not use it; check where the jars come from."
        )
    path.replace(folder / jar.name)


def _remove_strangers(folder: Path, jars: Iterable[Jar]) -> None:
    known = {jar.name for jar in jars}
    for path in folder.iterdir():
        if path.is_file() and path.name not in known:  # also archives of other jars
            path.unlink()


def _is_sound(path: Path, jar: Jar) -> bool:
    return path.is_file() and _digest(path) == jar.sha256


def _stamp_of(folder: Path) -> Path:
    return folder / "installed.sha256"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: Sequence[str]) -> None:
    match arguments:
        case ["install"]:
            try:
                install()
            except JarsUnusable as error:
                sys.exit(str(error))
        case ["lock"]:
            write_lock()
        case _:
            sys.exit(f"Usage: {COMMAND} install|lock")


if __name__ == "__main__":
    main(sys.argv[1:])
