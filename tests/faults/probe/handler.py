"""A test worker: records each start and effect, and fails as requested."""

import json
import os
import signal
import time
from pathlib import Path
from threading import Lock
from typing import Any

import psycopg

from functions.workers.probe.payload import Probe
from taskmill.worker import Task, serve

_KEEP = "INSERT INTO receipts (token, label, generation) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_EFFECTS = Path(os.environ.get("PROBE_EFFECTS", os.devnull))
_one_at_a_time = Lock()
_ballast: list[bytes] = []
_connections: list[psycopg.Connection[Any]] = []


def perform(probe: Probe, task: Task) -> str:
    _leave("start", task)
    if probe.ill and _runs_before(probe) < probe.ill_runs:
        _fall_ill(probe.ill)
    time.sleep(probe.sleep_seconds)
    if probe.keeps:
        _keep(task)
    _leave("effect", task)
    return probe.name


def _leave(kind: str, task: Task) -> None:
    """Append one line atomically: a crash while writing damages no other line."""
    line = {
        "kind": kind,
        "label": task.metadata["label"],
        "generation": task.generation,
        "token": task.idempotency_token,
        "pid": os.getpid(),
        "at_ms": time.time_ns() // 10**6,
    }
    with _EFFECTS.open("ab", buffering=0) as effects:
        effects.write(b"\n" + json.dumps(line).encode() + b"\n")


def _keep(task: Task) -> None:
    with _one_at_a_time:
        try:
            kept = _written(task)
        except psycopg.Error:  # by a server that restarted since: a new connection is good
            kept = _written(task)
    if kept == 0:
        _leave("kept before", task)


def _written(task: Task) -> int:
    if not _connections:
        _connections.append(psycopg.connect(os.environ["PROBE_DSN"], autocommit=True))
    try:
        receipt = (task.idempotency_token, task.metadata["label"], task.generation)
        return _connections[0].execute(_KEEP, receipt).rowcount
    except psycopg.Error:
        _connections.pop().close()
        raise


def _runs_before(probe: Probe) -> int:
    """Count the runs of a task in its own file, including a killed one."""
    counter = _EFFECTS.with_name(f"runs-{probe.name}")
    with counter.open("ab") as runs:
        before = runs.tell()
        runs.write(b"x")
    return before


def _fall_ill(how: str) -> None:
    match how:
        case "raise":
            raise RuntimeError("told to raise")
        case "exit":
            os._exit(1)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)
        case "linger":
            time.sleep(10)
        case "spin":
            while True:
                pass
        case "balloon":
            _ballast.extend(bytes(5 * 10**7) for _ in iter(int, 1))
        case _:
            raise ValueError(how)


_CONCURRENCY = int(os.environ.get("PROBE_CONCURRENCY", "50"))

lambda_handler = serve(Probe, perform, concurrency=_CONCURRENCY)
