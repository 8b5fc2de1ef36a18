"""Starts child processes that die with this process, even after SIGKILL."""

import asyncio
import ctypes
import os
import pwd
import select
import signal
import sys
import threading
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

_ON_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if _ON_LINUX else None  # loaded before any fork
_PR_SET_PDEATHSIG = 1
_GLANCE_SECONDS = 0.2


async def spawn(  # noqa: PLR0913 - the interface of a process start, by keyword
    *argv: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout: int | IO[Any] = DEVNULL,
    stderr: int | IO[Any] = DEVNULL,
    user: str | None = None,
    pass_fds: tuple[int, ...] = (),
    with_watcher: bool = not _ON_LINUX,
) -> Process:
    """Start a program in its own session, so that Ctrl-C in the terminal reaches only us.

    On Linux the kernel ends it with us; elsewhere a watcher process does.
    """
    if threading.current_thread() is not threading.main_thread():
        # To the kernel, the end of the forking thread is the end of the parent.
        raise RuntimeError("Children are started from the main thread only: they die with it.")
    options: dict[str, Any] = {} if user is None else _identity(user)
    if with_watcher:
        lifeline = _lifeline()
        pass_fds = (*pass_fds, lifeline)
        argv = (*_watcher_command(lifeline), *argv)
    else:
        options["preexec_fn"] = die_with_parent(signal.SIGKILL)
    return await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        cwd=cwd,
        stdin=DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=pass_fds,
        **options,
    )


def send(process: Process, number: int) -> None:
    """Signal a child that may have just ended.

    The process's own methods first check whether it ended and may take its exit code from asyncio,
    which then reports 255.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _identity(user: str) -> dict[str, Any]:
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def die_with_parent(death_signal: int) -> Callable[[], None]:
    parent = os.getpid()
    prctl = _LIBC.prctl if _LIBC else None

    def in_child() -> None:
        if prctl is None or prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
            os._exit(126)
        if os.getppid() != parent:  # it died before the kernel knew whom to watch
            os._exit(126)

    return in_child


@cache
def _lifeline() -> int:
    """Return the end of a pipe that reads as closed once this process is gone for any reason."""
    read_end, _never_inherited = os.pipe()
    return read_end


def _watcher_command(lifeline: int) -> tuple[str, ...]:
    # By path, isolated and without site-packages: a fast start, whatever `env` holds.
    return (sys.executable, "-I", "-S", __file__, str(lifeline), "--")


def _watch(lifeline: int, child: int) -> None:
    while os.getppid() == child:
        ready, _, _ = select.select([lifeline], [], [], _GLANCE_SECONDS)
        if ready and os.getppid() == child:
            os.kill(child, signal.SIGKILL)
            return


def _become_watcher(lifeline: int, child: int) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):  # a watcher must not keep the child's pipes open
        os.dup2(nowhere, standard)
    _watch(lifeline, child)
    os._exit(0)


def _main(arguments: Sequence[str]) -> NoReturn:
    """Become the program, with a watcher as a child: pid, signals and exit code stay the same."""
    lifeline, argv = int(arguments[0]), list(arguments[2:])
    program = os.getpid()
    if os.fork() == 0:
        _become_watcher(lifeline, program)
    os.close(lifeline)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - intended: the caller's program, without a shell
    except OSError as error:
        sys.stderr.write(f"Cannot start {argv[0]}: {error.strerror}.\n")
        os._exit(127)


if __name__ == "__main__":
    _main(sys.argv[1:])
