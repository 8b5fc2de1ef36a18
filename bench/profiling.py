"""Where a function's time goes: profiles its processes while tasks are drained."""

import io
import os
import pstats
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.measures.drain import drain
from bench.say import say
from bench.sizes import FULL, QUICK
from bench.system import System, running

FUNCTIONS: Final[Mapping[str, str]] = {
    "worker": "EchoWorker",
    "gateway": "Gateway",
    "dispatcher": "Dispatcher",
    "recorder": "Recorder",
    "scheduler": "Scheduler",
}
_LINES: Final = 30
_DEADLINE_SECONDS: Final = 30
_GLANCE_SECONDS: Final = 0.05


def profile(root: Path, word: str, *, quick: bool) -> str:
    """Return the profile of a function in a drain, by own time and by callees."""
    function = FUNCTIONS[word]
    sizes = QUICK if quick else FULL
    with running(root, profiled=function) as system:
        say(f"draining with {function} under the profiler")
        drain(system, sizes.drain_tasks)
        files = _collect(system, function)
        return "\n".join(_report(files, order) for order in ("tottime", "cumulative"))


def _collect(system: System, function: str) -> list[str]:
    """Ask each process for its figures, which also ends it."""
    files = []
    pids = system.pids_of(function)
    (system.folder / "profile_over").touch()
    for pid in pids:
        file = system.folder / f"{function}.{pid}.profile"
        files.append(str(file))
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not file.exists() or _is_alive(pid):
            if time.monotonic() > deadline:
                raise SystemExit(f"{function} wrote no profile within {_DEADLINE_SECONDS} s")
            time.sleep(_GLANCE_SECONDS)
    return files


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _report(files: Sequence[str], order: str) -> str:
    text = io.StringIO()
    first, *others = files
    stats = pstats.Stats(first, stream=text)
    stats.add(*others)
    stats.sort_stats(order).print_stats(_LINES)
    return text.getvalue()
