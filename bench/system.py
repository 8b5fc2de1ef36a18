"""A whole local system of its own for a measurement, and what its processes used."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psutil

START_SECONDS = 60
STOP_SECONDS = 20


class Client:
    """One kept-alive connection to the front."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)

    def call(self, method: str, path: str, body: object = None) -> Any:
        encoded = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        self._connection.request(method, path, encoded, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:  # noqa: PLR2004 - anything but success
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {text[:500]!r}")
        return json.loads(text)


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds by part of the system, since its start."""

    seconds: Mapping[str, float]

    def since(self, before: Self) -> dict[str, float]:
        return {name: spent - before.seconds.get(name, 0.0) for name, spent in self.seconds.items()}


@dataclass(frozen=True, slots=True)
class System:
    url: str

    def client(self) -> Client:
        return Client(self.url)

    def look(self) -> dict[str, Any]:
        seen: dict[str, Any] = self.client().call("GET", "/platform")
        return seen

    def usage(self) -> Usage:
        seen = self.look()
        parts = {"platform": [seen["pid"]]}
        parts |= {name: function["pids"] for name, function in seen["functions"].items()}
        parts |= {name: [store["pid"]] for name, store in seen["stores"].items()}
        return Usage({name: sum(map(_cpu_seconds, pids)) for name, pids in parts.items()})


def _cpu_seconds(pid: int) -> float:
    """Return what a process used; PostgreSQL does its work in children."""
    try:
        process = psutil.Process(pid)
        family = [process]
        if process.name().startswith("postgres"):
            family += process.children(recursive=True)
        times = [member.cpu_times() for member in family]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(used.user + used.system for used in times)


@contextmanager
def running(environment: Mapping[str, str]) -> Iterator[System]:
    """Start `taskmill up` in a home of its own, and stop it behind the measurement."""
    with tempfile.TemporaryDirectory(prefix="taskmill-bench-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o755)
        process = subprocess.Popen(
            [sys.executable, "-m", "taskmill_local.cli", "up", "--json"],
            env={**environment, "TASKMILL_HOME": home, "TASKMILL_PORT": "0"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield System(_url(process))
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)


def _url(process: "subprocess.Popen[str]") -> str:
    if process.stdout is None:
        raise RuntimeError("the command has no output")
    line = process.stdout.readline()
    if not line:
        raise SystemExit("the system could not start; what it said stands above")
    told: dict[str, str] = json.loads(line)
    return told["url"]
