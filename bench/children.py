"""Processes of a measurement: started for a while, and ended with all their children."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import psutil

from taskmill_local.child_processes import die_with_parent

_STOP_SECONDS: Final = 20
_ON_LINUX: Final = sys.platform == "linux"


@contextmanager
def child(
    *argv: str,
    environment: Mapping[str, str],
    folder: Path,
    output: int | IO[bytes] = subprocess.DEVNULL,
    complaints: IO[bytes] | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(  # noqa: S603 - programs of our own choosing
        argv,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=complaints,
        start_new_session=True,
        preexec_fn=die_with_parent(signal.SIGTERM) if _ON_LINUX else None,  # noqa: PLW1509 - no thread of ours holds a lock
    )
    try:
        yield process
    finally:
        _end(process)


def family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


@contextmanager
def held_still(pids: Sequence[int]) -> Iterator[None]:
    """Stop processes for a while: what is sent to them meanwhile waits."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_SECONDS)
