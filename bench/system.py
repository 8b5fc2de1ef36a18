"""A separate local system for a measurement, and the resources its processes used."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import psutil

from bench.children import child, family
from bench.client import Client
from bench.ledger import Ledger
from bench.project import project

_GLANCE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds by part of the system, since its start."""

    seconds: Mapping[str, float]

    def since(self, before: Self) -> dict[str, float]:
        return {
            name: seconds - before.seconds.get(name, 0.0) for name, seconds in self.seconds.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    url: str
    folder: Path
    """The running project."""

    ledger: Ledger

    def client(self) -> Client:
        return Client(self.url)

    def look(self) -> dict[str, Any]:
        client = self.client()
        snapshot: dict[str, Any] = client.call("GET", "/platform")
        client.close()
        return snapshot

    def pids_of(self, *functions: str) -> list[int]:
        pools = self.look()["functions"]
        return [pid for name in functions for pid in pools[name]["pids"]]

    def await_backlog(self, topic: str) -> None:
        """Wait until the readers of a topic have read everything in it."""
        while any(
            mapping["lag"]
            for mapping in self.look()["mappings"].values()
            if mapping["topic"] == topic
        ):
            time.sleep(_GLANCE_SECONDS)  # between two looks

    def usage(self) -> Usage:
        return Usage({name: sum(map(_seconds, pids)) for name, pids in self._parts().items()})

    def peak_memory_mb(self) -> dict[str, float]:
        return {name: sum(map(_peak_mb, pids)) for name, pids in self._parts().items()}

    def _parts(self) -> dict[str, list[int]]:
        snapshot = self.look()
        parts = {"platform": [snapshot["pid"]]}
        parts |= {name: function["pids"] for name, function in snapshot["functions"].items()}
        parts |= {name: [store["pid"]] for name, store in snapshot["stores"].items()}
        return parts


@contextmanager
def running(root: Path, *, profiled: str | None = None) -> Iterator[System]:
    """Start `taskmill up` for the code in *root* in its own home; stop it after use."""
    with (
        tempfile.TemporaryDirectory(prefix="taskmill-bench-", ignore_cleanup_errors=True) as home,
        project(root, profiled=profiled) as folder,
    ):
        Path(home).chmod(0o755)
        code = os.pathsep.join(str(root / part) for part in ("shared", "localstack", "."))
        settings = {"TASKMILL_HOME": home, "TASKMILL_PORT": "0", "TASKMILL_ROOT": str(folder)}
        environment = {**os.environ, "PYTHONPATH": code, **settings}
        command = (sys.executable, "-m", "taskmill_local.cli", "up", "--json")
        with child(
            *command, environment=environment, folder=folder, output=subprocess.PIPE
        ) as process:
            snapshot = _first_line(process)
            ledger = Ledger(snapshot["stores"]["PostgreSQL"]["address"])
            yield System(url=snapshot["url"], folder=folder, ledger=ledger)


def _first_line(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        raise SystemExit("the system could not start; see its output above")
    snapshot: dict[str, Any] = json.loads(line)
    return snapshot


def _seconds(pid: int) -> float:
    """Return the CPU time of a process; PostgreSQL works in child processes."""
    seconds = 0.0
    for member in _members(pid):
        try:
            times = member.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds


def _peak_mb(pid: int) -> float:
    """Return the peak memory of a process; for PostgreSQL, its processes' current shares."""
    members = _members(pid)
    if len(members) > 1:
        return sum(member.memory_full_info().pss for member in members) / 2**20
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 2**10
    return 0.0


def _members(pid: int) -> list[psutil.Process]:
    members = family(pid)
    is_postgres = bool(members) and members[0].name().startswith("postgres")
    return members if is_postgres else members[:1]
