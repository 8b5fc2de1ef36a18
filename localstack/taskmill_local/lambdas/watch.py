"""Watches a running invocation: its deadline, and the memory of its process tree."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from taskmill_local.lambdas.answer import Failure

_GLANCE_SECONDS: Final = 0.15
_PAGE_BYTES: Final = 4096


class Watch:
    """One timer for an environment; short invocations come and go between two ticks."""

    def __init__(self, *, memory_limit: int, breached: Callable[[Failure], None]) -> None:
        self.peak = 0
        self._process: psutil.Process | None = None
        self._memory_limit = memory_limit
        self._breached = breached
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, pid: int) -> None:
        with contextlib.suppress(psutil.Error):
            self._process = psutil.Process(pid)

    def begin(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is None or self._timer.when() > deadline:
            self._arm(deadline)

    def end(self) -> None:
        # The timer stays and finds nothing to do: cheaper than one timer per invocation.
        self._deadline = None

    def close(self) -> None:
        self.end()
        if self._timer is not None:
            self._timer.cancel()

    def sample(self) -> int:
        """Return the bytes in use now, and remember the peak."""
        memory = 0 if self._process is None else _memory_of_tree(self._process)
        self.peak = max(self.peak, memory)
        return memory

    def _arm(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(min(deadline, loop.time() + _GLANCE_SECONDS), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if asyncio.get_running_loop().time() >= self._deadline:
            self.end()
            self._breached(Failure.TIMEOUT)
        elif self.sample() > self._memory_limit:
            self.end()
            self._breached(Failure.OUT_OF_MEMORY)
        else:
            self._arm(self._deadline)


def _memory_of_tree(process: psutil.Process) -> int:
    memory = 0
    with contextlib.suppress(psutil.Error, OSError):  # it may end in between
        memory = process.memory_info().rss
        for child in _children_of(process):
            memory += _memory_of_tree(child)
    return memory


def _children_of(process: psutil.Process) -> Iterator[psutil.Process]:
    if not _kernel_lists_children():
        yield from process.children()
        return
    threads = f"/proc/{process.pid}/task"
    for thread in os.listdir(threads):  # noqa: PTH208 - four times faster, and called often
        for child in _read(f"{threads}/{thread}/children").split():
            yield psutil.Process(int(child))


def _read(path: str) -> bytes:
    """Read a file of the kernel directly, without buffering layers."""
    number = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(number, _PAGE_BYTES), b""))
    finally:
        os.close(number)


@cache
def _kernel_lists_children() -> bool:
    """Return whether /proc lists a thread's children; otherwise psutil must scan all processes."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()
