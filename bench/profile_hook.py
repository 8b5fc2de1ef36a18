"""Profiles a function's process; a profiled project carries it as `sitecustomize`.

Python runs a module of that name at its start, so that neither the function nor the platform
knows of the profile. On SIGTERM the figures of every thread are written and the process ends.
"""

import os
import pstats
import signal
import threading
import time
from cProfile import Profile
from pathlib import Path

_FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
_WANTED = Path(__file__).with_name("profile_wanted")
_profiles: list[Profile] = []


def _begin() -> None:
    """Watch the calling thread."""
    profile = Profile(time.thread_time)  # what waits costs nothing
    # Else the statistics would end the calls that still run, by the clock of another thread.
    profile.create_stats = profile.snapshot_stats  # type: ignore[method-assign]  # as said above
    _profiles.append(profile)
    try:
        profile.enable()
    except ValueError:  # newer Pythons let one thread of a process be watched
        _profiles.remove(profile)


def _watch_every_thread() -> None:
    run = threading.Thread.run

    def run_watched(thread: threading.Thread) -> None:
        _begin()
        run(thread)

    threading.Thread.run = run_watched  # type: ignore[method-assign,assignment]  # cProfile takes no other hook


def _write_on_sigterm() -> None:
    # The main thread sits in C, where no handler of Python runs: the byte wakes another thread.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(writing)
    threading.Thread(target=_write, args=(reading,), daemon=True).start()


def _write(reading: int) -> None:
    os.read(reading, 1)
    whole: pstats.Stats | None = None
    for profile in _profiles:
        profile.snapshot_stats()
        if profile.stats:
            whole = pstats.Stats(profile) if whole is None else whole.add(profile)
    if whole is not None:
        whole.dump_stats(f"{_WANTED.parent}/{_FUNCTION}.{os.getpid()}.profile")
    os._exit(0)


if _WANTED.exists() and _WANTED.read_text() == _FUNCTION:
    _write_on_sigterm()
    _watch_every_thread()
    _begin()
