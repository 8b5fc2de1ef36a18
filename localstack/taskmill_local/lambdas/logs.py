"""The log of a function: one file with whole lines from all its environments."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Final, TypeAlias

_LINE_LIMIT: Final = 65_536
_PIPE_CAPACITY: Final = 65_536
_ROTATE_AT: Final = 20 * 2**20
_FLUSH_AT: Final = 2**18
_FLUSH_AFTER_SECONDS: Final = 0.05


Sift: TypeAlias = Callable[[bytes], bool]
"""Consumes a line that does not belong in the log; returns False for any other line."""


def keep(_line: bytes) -> bool:
    return False


class FunctionLog:
    def __init__(self, path: Path, *, rotate_at: int = _ROTATE_AT, sift: Sift = keep) -> None:
        """Keep each line that *sift* does not consume."""
        self._path = path
        self._rotate_at = rotate_at
        self._sift = sift
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._second = 0
        self._stamp = ""
        self._flush_timer: asyncio.TimerHandle | None = None

    def write(self, environment: int, *lines: bytes) -> None:
        prefix = self._prefix(environment)
        for line in lines:
            if self._sift(line):
                continue
            self._pending += (prefix, line, b"\n")
            self._pending_bytes += len(line) + len(prefix)
        if self._pending_bytes > _FLUSH_AT:
            self.flush()
        elif self._flush_timer is None:
            loop = asyncio.get_running_loop()
            self._flush_timer = loop.call_later(_FLUSH_AFTER_SECONDS, self.flush)

    def flush(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        text, self._pending, self._pending_bytes = b"".join(self._pending), [], 0
        with contextlib.suppress(OSError):  # a full disk only loses log lines
            self._append(text)

    def _append(self, text: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(text)
            size = file.tell()
        if size > self._rotate_at:
            self._path.replace(self._path.with_name(self._path.name + ".1"))

    def _prefix(self, environment: int) -> bytes:
        second, nanoseconds = divmod(time.time_ns(), 10**9)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{nanoseconds // 10**6:03d}Z [{environment}] ".encode()


class Output:
    """The pipe that an environment's process prints to."""

    def __init__(self, log: FunctionLog, environment: int) -> None:
        self._log = log
        self._environment = environment
        self._partial = b""
        self._read_end = self.write_end = -1

    def open(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        asyncio.get_running_loop().add_reader(self._read_end, self._read)

    def hand_over(self) -> None:
        """Leave the write end to the process alone."""
        if self.write_end >= 0:
            os.close(self.write_end)
        self.write_end = -1

    def settle(self) -> None:
        """Log everything printed so far, including an unfinished last line."""
        self._read()
        if self._partial:
            self._log.write(self._environment, self._partial)
            self._partial = b""

    def close(self) -> None:
        if self._read_end < 0:
            return
        self.hand_over()
        self.settle()
        asyncio.get_running_loop().remove_reader(self._read_end)
        os.close(self._read_end)
        self._read_end = -1

    def _read(self) -> None:
        if self._read_end < 0:
            return
        try:
            # One read is enough: a pipe holds no more.
            octets = os.read(self._read_end, _PIPE_CAPACITY)
        except BlockingIOError:
            return
        if not octets:
            asyncio.get_running_loop().remove_reader(self._read_end)
            return
        # awslambdaric joins the lines of a traceback with carriage returns.
        *lines, self._partial = (self._partial + octets.replace(b"\r", b"\n")).split(b"\n")
        if len(self._partial) >= _LINE_LIMIT:
            lines, self._partial = [*lines, self._partial], b""
        self._log.write(self._environment, *(part for line in lines for part in _parts(line)))


def _parts(line: bytes) -> list[bytes]:
    if len(line) <= _LINE_LIMIT:
        return [line]
    return [line[at : at + _LINE_LIMIT] for at in range(0, len(line), _LINE_LIMIT)]


def report(
    *, request_id: str, milliseconds: float, memory: int, memory_mb: int, init: float | None
) -> bytes:
    """Return the platform's REPORT line; only an environment's first has *init*."""
    words = [
        f"REPORT RequestId: {request_id}",
        f"Duration: {milliseconds:.2f} ms",
        f"Billed Duration: {ceil(milliseconds)} ms",
        f"Memory Size: {memory_mb} MB",
        f"Max Memory Used: {memory // 2**20} MB",
    ]
    if init is not None:
        words.append(f"Init Duration: {init:.2f} ms")
    return "\t".join(words).encode()
