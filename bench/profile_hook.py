"""Profiles a function's process; a profiled project contains it as `sitecustomize`.

Python runs a module of that name at startup, so neither the function nor the platform knows of the
profile. Once a file signals the end, the figures of every thread are written and the process ends;
signals belong to the function.
"""

import os
import pstats
import threading
import time
from cProfile import Profile
from pathlib import Path

_FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
_WANTED = Path(__file__).with_name("profile_wanted")
_OVER = _WANTED.with_name("profile_over")
_GLANCE_SECONDS = 0.1
_profiles: list[Profile] = []


def _begin() -> None:
    """Profile the calling thread."""
    profile = Profile(time.thread_time)  # waiting costs nothing
    # Otherwise the statistics would end running calls by the clock of another thread.
    profile.create_stats = profile.snapshot_stats  # type: ignore[method-assign]  # Profile has no other seam
    _profiles.append(profile)
    try:
        profile.enable()
    except ValueError:  # newer Pythons allow one profiled thread per process
        _profiles.remove(profile)


def _watch_every_thread() -> None:
    run = threading.Thread.run

    def run_watched(thread: threading.Thread) -> None:
        _begin()
        run(thread)

    threading.Thread.run = run_watched  # type: ignore[method-assign,assignment]  # cProfile takes no other hook


def _write_when_over() -> None:
    while not _OVER.exists():
        time.sleep(_GLANCE_SECONDS)
    whole: pstats.Stats | None = None
    for profile in _profiles:
        profile.snapshot_stats()
        if profile.stats:
            whole = pstats.Stats(profile) if whole is None else whole.add(profile)
    if whole is not None:
        whole.dump_stats(f"{_WANTED.parent}/{_FUNCTION}.{os.getpid()}.profile")
    os._exit(0)


if _WANTED.exists() and _WANTED.read_text() == _FUNCTION:
    threading.Thread(target=_write_when_over, daemon=True).start()
    _watch_every_thread()
    _begin()
